"""The values that plug-ins are given."""

import dataclasses

import pytest

from wf_mcp.plugin.types import CallRequest

REQUEST = CallRequest("tools/call", "gh.search", {"name": "gh.search", "arguments": {}}, "gh", "gh")


def test_a_request_is_frozen_and_replaced() -> None:
    changed = REQUEST.replace(params={"name": "gh.search", "arguments": {"q": 1}})
    assert changed.params["arguments"] == {"q": 1}
    assert (changed.method, changed.target, changed.mount_id) == ("tools/call", "gh.search", "gh")
    assert REQUEST.replace(target="gh.other").target == "gh.other"
    assert REQUEST.replace() == REQUEST
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(REQUEST, "target", "x")  # noqa: B010
