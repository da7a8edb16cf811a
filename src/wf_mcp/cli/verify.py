"""`wf-mcp verify`: is anything lost on the way? Upstreams asked directly and through wf-mcp, and every difference."""

import dataclasses
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import typer
from rich.table import Table
from rich.text import Text

from wf_mcp.app import IDENTITY, App, Front, chain_of
from wf_mcp.cli.common import err, fail, mistakes_in_words, open_config, out, run_async
from wf_mcp.core.compare import ABSENT, Difference
from wf_mcp.core.config import Config, ToolsSettings, Upstream
from wf_mcp.core.errors import UpstreamUnavailable, WfMcpError
from wf_mcp.core.namespace import Namespace
from wf_mcp.core.secrets import Secrets
from wf_mcp.core.wire import JsonObject
from wf_mcp.edge.era_memory import ERAS, EraMemory
from wf_mcp.edge.folders import state_dir
from wf_mcp.edge.loopback import Deaf, open_front
from wf_mcp.edge.upstream import SdkConnector
from wf_mcp.runtime.ports import Hello
from wf_mcp.runtime.verifying import Verdict, Verifier

SHOWN = 60
"""Characters of a value that the table shows; `--json` has all."""

HELLO = Hello({}, IDENTITY, "2025-11-25")

Calls = dict[str, list[tuple[str, JsonObject]]]


@dataclass(slots=True)
class Report:
    """What came out for one upstream; `error` says why it could not be asked at all."""

    upstream: str
    verdict: Verdict = field(default_factory=Verdict)
    error: str | None = None

    @property
    def equal(self) -> bool:
        """Whether it answered, and nothing was lost."""
        return self.error is None and not self.verdict.lost


def run(
    config: Path | None, names: Sequence[str], calls: Sequence[str], as_json: bool, wait: float, verbose: int
) -> None:
    """Compare, print, and end with 0 when nothing is lost, 1 when something is."""
    loaded, read = open_config(config, verbose)
    chosen = _chosen(loaded, names)
    wanted = _calls(calls, chosen)

    async def main() -> int:
        reports = [await _verify(loaded, read, upstream, wanted.get(upstream.id, []), wait) for upstream in chosen]
        (_print_json if as_json else _print_table)(reports, Secrets(loaded.secrets))
        return 0 if all(report.equal for report in reports) else 1

    with mistakes_in_words():
        code = run_async(main)
    raise typer.Exit(code)


def _chosen(config: Config, names: Sequence[str]) -> list[Upstream]:
    """The upstreams that are named, by key or by label; all that are enabled where none is."""
    if not names:
        return [upstream for upstream in config.upstreams if upstream.enabled]
    found = {each.label: each for each in config.upstreams if each.label} | {each.id: each for each in config.upstreams}
    for name in names:
        if name not in found:
            fail(
                f"no server is called {name!r}; there are: {', '.join(each.id for each in config.upstreams) or 'none'}"
            )
        if not found[name].enabled:
            fail(f"{name!r} is disabled in the configuration")
    return list({found[name].id: found[name] for name in names}.values())


def _calls(texts: Sequence[str], chosen: Sequence[Upstream]) -> Calls:
    """`NAME=ARGS` by upstream, under the upstream's own name."""
    calls: Calls = {}
    for text in texts:
        name, mark, args = text.partition("=")
        try:
            arguments = json.loads(args) if mark else None
        except ValueError as error:
            fail(f"--call {text}: the arguments are no JSON: {error}")
        if not isinstance(arguments, dict):
            fail(f"--call {text}: expected NAME=ARGS with a JSON object, for example echo={{}}")
        upstream, local = _owner(name, chosen)
        calls.setdefault(upstream.id, []).append((local, arguments))
    return calls


def _owner(name: str, chosen: Sequence[Upstream]) -> tuple[Upstream, str]:
    for upstream in chosen:
        if upstream.label and name.startswith(f"{upstream.label}."):
            return upstream, name.removeprefix(f"{upstream.label}.")
    if len(chosen) != 1:
        fail(f"--call {name}: which server's tool? Give its public name, or one server")
    return chosen[0], name


async def _verify(
    config: Config, read: Callable[[], Config], upstream: Upstream, calls: list[tuple[str, JsonObject]], wait: float
) -> Report:
    """Ask one upstream; a front of its own, with the configured plug-ins and nothing else mounted, stands between."""
    alone = replace(config, upstreams=(upstream,), admin=False, tools=ToolsSettings("off"), list_wait=wait)
    report = Report(upstream.id)
    if upstream.problem is not None:
        report.error = upstream.problem
        return report
    app = App(alone, Front("stdio", "dotted"), read=read)
    connector = SdkConnector(lambda: config.shutdown, chain_of(config, os.environ), EraMemory(state_dir() / ERAS))
    try:
        async with (
            connector.open(upstream, HELLO, Deaf()) as direct,
            app.running(),
            open_front(app.server, replace(HELLO, era=direct.era), wait + 5) as proxied,
        ):
            verifier = Verifier(direct, proxied, Namespace(upstream.id, upstream.label), wait)
            report.verdict = verifier.verdict
            await verifier.run(calls)
    except* WfMcpError as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        where = "it cannot be reached: " if isinstance(error, UpstreamUnavailable) else ""
        report.error = f"{where}{error}"
    return report


def _print_json(reports: Sequence[Report], secrets: Secrets) -> None:
    found = [
        {
            "upstream": report.upstream,
            "error": report.error,
            "compared": report.verdict.compared,
            "differences": [_plain(each) for each in report.verdict.lost],
            "unsteady": [_plain(each) for each in report.verdict.unsteady],
        }
        for report in reports
    ]
    equal = all(report.equal for report in reports)
    shown = secrets.mask_json({"equal": equal, "upstreams": found})
    typer.echo(json.dumps(shown, indent=2, ensure_ascii=False))


def _plain(difference: Difference) -> JsonObject:
    """A difference as JSON; the side that has nothing there has no key."""
    named = {each.name: getattr(difference, each.name) for each in dataclasses.fields(difference)}
    return {name: value for name, value in named.items() if value is not ABSENT}


def _print_table(reports: Sequence[Report], secrets: Secrets) -> None:
    table = Table("server", "method", "item", "path", "direct", "through wf-mcp", box=None, pad_edge=False)
    for report in reports:
        for each in report.verdict.lost:
            cells = [report.upstream, each.method, each.item, each.path, _shown(each.direct), _shown(each.proxied)]
            table.add_row(*(Text(secrets.mask(cell)) for cell in cells))
    if table.row_count:
        out.print(table)
    for report in reports:
        verdict = report.verdict
        for each in verdict.unsteady:
            text = (
                f"note: {report.upstream}: {each.method} {each.item} {each.path} is different each time, also directly"
            )
            err.print(secrets.mask(text), style="yellow", markup=False)
        count = f"{verdict.compared} answers compared"
        places = "1 place differs" if len(verdict.lost) == 1 else f"{len(verdict.lost)} places differ"
        said = places if verdict.lost else "nothing is lost"
        text = f"{count}, {said}" if report.error is None else f"{count}, then: {report.error}"
        out.print(secrets.mask(f"{report.upstream}: {text}"), markup=False)


def _shown(value: Any) -> str:
    if value is ABSENT:
        return repr(value)
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
