"""What a reload has to do: the difference between two configurations, by digest (design D11).

Pure; the runtime carries it out. An upstream that is switched off counts as absent.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from wf_mcp.core.config_values import Config, Upstream


@dataclass(frozen=True, slots=True)
class Plan:
    """Connection ids by what happens to them, in configuration order.

    `updated` are those of `unchanged` whose label or settings differ in ways that apply to the running server.
    """

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    restarted: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()


def plan_reload(old: Config, new: Config) -> Plan:
    """Return what turns the running `old` into `new`."""
    before, after = dict(_enabled(old)), dict(_enabled(new))
    kept = [connection_id for connection_id in after if connection_id in before]
    unchanged = [each for each in kept if before[each].digest == after[each].digest]
    return Plan(
        added=tuple(each for each in after if each not in before),
        removed=tuple(each for each in before if each not in after),
        restarted=tuple(each for each in kept if each not in unchanged),
        unchanged=tuple(unchanged),
        updated=tuple(each for each in unchanged if before[each] != after[each]),
    )


def _enabled(config: Config) -> Iterator[tuple[str, Upstream]]:
    return ((upstream.id, upstream) for upstream in config.upstreams if upstream.enabled)
