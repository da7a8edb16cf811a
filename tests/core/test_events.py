"""Events as values: names, one line, JSON (design D9)."""

import dataclasses
import json

import pytest
from inline_snapshot import snapshot

from wf_mcp.core.events import (
    EVENT_TYPES,
    KINDS,
    ConfigReloaded,
    Event,
    PluginFailed,
    PromptsChanged,
    ReloadRefused,
    ResourcesChanged,
    ToolsChanged,
    UpstreamAsleep,
    UpstreamFailed,
    UpstreamGone,
    UpstreamReady,
    UpstreamStarting,
    as_json,
    describe,
    kind_of,
)

ONE_OF_EACH: list[Event] = [
    ToolsChanged("gh"),
    PromptsChanged(""),
    ResourcesChanged("gh"),
    UpstreamStarting("gh"),
    UpstreamReady("gh", "GitHub MCP", "1.2"),
    UpstreamFailed("gh", "no such\ncommand"),
    UpstreamGone("gh", "exit code 1"),
    ConfigReloaded(added=("a", "b"), failed=("c",), unchanged=("d",)),
    ReloadRefused("line 3: a comma is missing"),
    PluginFailed("redact", "wf_result_transforms", "ValueError: x"),
    UpstreamAsleep("gh"),
]


def test_there_is_one_of_each() -> None:
    assert [type(event) for event in ONE_OF_EACH] == list(EVENT_TYPES)


@pytest.mark.parametrize("event", ONE_OF_EACH, ids=kind_of)
def test_events_are_frozen_hash_and_compare_by_value(event: Event) -> None:
    assert len({event, dataclasses.replace(event)}) == 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(event, dataclasses.fields(event)[0].name, "other")


@pytest.mark.parametrize("event", ONE_OF_EACH, ids=kind_of)
def test_every_event_says_which_mount_in_one_line_and_in_json(event: Event) -> None:
    assert event.mount in ("", "gh")
    assert "\n" not in describe(event)
    assert json.loads(json.dumps(as_json(event))) == as_json(event)
    assert as_json(event)["kind"] == KINDS[type(event)]


CHANGES = pytest.mark.parametrize("change", [ToolsChanged, PromptsChanged, ResourcesChanged])


@CHANGES
def test_whose_session_changed_stays_inside(change: type[ToolsChanged]) -> None:
    """The key is for delivery; it would tell plug-ins and operators nothing, and name clients to each other."""
    event = change("gh", "client 1")
    assert event != change("gh") == change("gh", "")
    assert describe(event) == describe(change("gh"))
    assert as_json(event) == as_json(change("gh")) == {"kind": kind_of(event), "mount": "gh"}


def test_lines() -> None:
    assert [describe(event) for event in ONE_OF_EACH] == snapshot(
        [
            "gh: tools changed",
            "wf-mcp: prompts changed",
            "gh: resources changed",
            "gh: starting",
            "gh: ready (GitHub MCP 1.2)",
            "gh: failed: no such command",
            "gh: gone: exit code 1",
            "configuration reloaded: added a, b; failed c; 1 unchanged",
            "new configuration refused, nothing changed: line 3: a comma is missing",
            "plug-in redact failed in wf_result_transforms and was skipped: ValueError: x",
            "gh: asleep until it is needed",
        ]
    )
    assert describe(UpstreamReady("gh", "", "")) == "gh: ready"
    assert describe(ConfigReloaded()) == "configuration reloaded: 0 unchanged"


def test_json() -> None:
    assert [as_json(event) for event in (ONE_OF_EACH[0], ONE_OF_EACH[4], ONE_OF_EACH[7])] == snapshot(
        [
            {"kind": "tools_changed", "mount": "gh"},
            {"kind": "upstream_ready", "mount": "gh", "server": "GitHub MCP", "version": "1.2"},
            {
                "kind": "config_reloaded",
                "mount": "",
                "added": ["a", "b"],
                "removed": [],
                "restarted": [],
                "unchanged": ["d"],
                "failed": ["c"],
            },
        ]
    )
