"""What a reload has to do (design D11, field cases F78 to F80)."""

import json

import pytest

from wf_mcp.core.config import Config, load_config
from wf_mcp.core.plan import Plan, plan_reload


def config(servers, env=None, **wf) -> Config:
    text = json.dumps({"mcpServers": servers, "wf": wf})
    return load_config(text, file="/p/wf-mcp.json", base="/p", env=env or {})


A = {"command": "a"}


def test_the_difference_is_in_configuration_order():
    old = config({"gone": A, "same": A, "changed": A, "off": A})
    new = config({"new": A, "changed": {"command": "b"}, "same": A, "off": {**A, "disabled": True}})
    assert plan_reload(old, new) == Plan(("new",), ("gone", "off"), ("changed",), ("same",))


def test_what_is_switched_on_is_added():
    assert plan_reload(config({"a": {**A, "enabled": False}}), config({"a": A})) == Plan(added=("a",))


@pytest.mark.parametrize(
    "change",
    [
        {"args": ["x"]},
        {"env": {"A": "1"}},
        {"cwd": "/x"},
        {"wf": {"isolation": "shared"}},
        {"wf": {"identity": "proxy"}},
        {"wf": {"ping": 30}},
    ],
)
def test_what_the_process_was_started_with_restarts_it(change):
    assert plan_reload(config({"a": A}), config({"a": {**A, **change}})) == Plan(restarted=("a",))


@pytest.mark.parametrize("change", [{"url": "http://h/2"}, {"headers": {"A": "b"}}, {"type": "sse"}])
def test_what_a_connection_was_opened_with_restarts_it(change):
    entry = {"url": "http://h/1"}
    assert plan_reload(config({"a": entry}), config({"a": {**entry, **change}})).restarted == ("a",)


@pytest.mark.parametrize(
    "ours",
    [
        {"timeout": 3},
        {"init_timeout": 3},
        {"namespace": "other"},
        {"start": "lazy"},
        {"forward_headers": ["authorization"]},
    ],
)
def test_what_applies_in_place_restarts_nothing(ours):
    plan = plan_reload(config({"a": A}), config({"a": {**A, "wf": ours}}))
    assert plan == Plan(unchanged=("a",), updated=("a",))


def test_settings_of_the_proxy_and_the_order_of_keys_restart_nothing():
    old = config({"a": {"command": "a", "env": {"A": "1", "B": "2"}}})
    new = config({"a": {"env": {"B": "2", "A": "1"}, "command": "a"}}, page_size=3)
    assert plan_reload(old, new) == Plan(unchanged=("a",))


def test_a_variable_that_changes_or_appears_restarts_its_upstream_only():
    servers = {"a": {"command": "a", "args": ["${V}"]}, "b": A}
    missing, first, second = (config(servers, env) for env in ({}, {"V": ""}, {"V": "2"}))
    for old, new in ((missing, first), (first, second), (second, missing)):
        assert plan_reload(old, new) == Plan(restarted=("a",), unchanged=("b",))
