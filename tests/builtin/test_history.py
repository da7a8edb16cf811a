"""The bounded memory of events (design D9)."""

from datetime import UTC, datetime, timedelta

from wf_mcp.builtin.history import HistorySink
from wf_mcp.core.events import ToolsChanged, UpstreamFailed
from wf_mcp.core.reports import EventRecord
from wf_mcp.plugin.manager import build_plugins


class Clock:
    """A second passes with each look."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


def test_events_are_kept_with_their_time_newest_last() -> None:
    history = HistorySink(clock=Clock())
    history.offer(ToolsChanged("gh"))
    history.offer(UpstreamFailed("db", "no such command"))
    assert history.records(10) == [
        EventRecord(at="2026-01-02T03:04:06.000+00:00", kind="tools_changed", mount="gh", text="gh: tools changed"),
        EventRecord(
            at="2026-01-02T03:04:07.000+00:00", kind="upstream_failed", mount="db", text="db: failed: no such command"
        ),
    ]


def test_the_oldest_are_forgotten_and_the_limit_holds() -> None:
    history = HistorySink(limit=3)
    for name in "abcde":
        history.offer(ToolsChanged(name))
    assert [record.mount for record in history.records(10)] == ["c", "d", "e"]
    assert [record.mount for record in history.records(2)] == ["d", "e"]
    assert history.records(0) == history.records(-1) == []


def test_the_clock_is_utc_by_default() -> None:
    history = HistorySink()
    history.offer(ToolsChanged("gh"))
    assert history.records(1)[0].at.endswith("+00:00")


def test_it_offers_itself_each_time_so_that_a_reload_forgets_nothing() -> None:
    history = HistorySink()
    for _ in range(2):
        plugins = build_plugins([("history", history)], {}, load_entry_points=False)
        assert [owned.value for owned in plugins.event_sinks()] == [history]
