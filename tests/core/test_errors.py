"""What wf-mcp reports on purpose: whose fault, and under which code (style habit 6)."""

import inspect

import pytest

from wf_mcp.core import errors
from wf_mcp.core.errors import (
    ConfigError,
    FellBehind,
    InvalidParams,
    LinkLost,
    MissingCapability,
    NotServed,
    PluginError,
    RelayedError,
    UnknownName,
    UnknownResource,
    UpstreamTimeout,
    UpstreamUnavailable,
    WfMcpError,
)

CODES = {
    WfMcpError: -32603,
    UnknownName: -32602,
    UnknownResource: -32002,
    InvalidParams: -32602,
    NotServed: -32601,
    MissingCapability: -32021,
    FellBehind: -32603,
    UpstreamUnavailable: -32603,
    UpstreamTimeout: -32603,
    ConfigError: -32603,
    PluginError: -32603,
}
OF_THEIR_OWN = {RelayedError, LinkLost}
"""Types with a constructor of their own; see their tests."""


@pytest.mark.parametrize("kind", CODES, ids=lambda kind: kind.__name__)
def test_an_error_has_a_code_a_message_and_data(kind: type[WfMcpError]) -> None:
    error = kind("what happened", {"uri": "x"})
    assert (error.code, error.message, error.data, str(error)) == (
        CODES[kind],
        "what happened",
        {"uri": "x"},
        "what happened",
    )
    assert kind("m").data is None


def test_every_error_is_in_the_table() -> None:
    known = {each for _, each in inspect.getmembers(errors, inspect.isclass) if issubclass(each, WfMcpError)}
    assert known == set(CODES) | OF_THEIR_OWN


def test_a_relayed_error_keeps_what_the_other_side_said() -> None:
    error = RelayedError(-31999, "no", [None])
    assert (error.code, error.message, error.data) == (-31999, "no", [None])
    assert WfMcpError("x").code == -32603


@pytest.mark.parametrize("started", [True, False])
def test_a_lost_link_says_whether_the_request_may_have_arrived(started: bool) -> None:
    error = LinkLost("gone", started=started)
    assert error.started is started
    assert isinstance(error, UpstreamUnavailable)
    assert error.code == -32603
