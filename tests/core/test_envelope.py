"""Envelopes belong to one hop (2026-07-28 basic/index § `_meta`; matrix C.3, D.2)."""

import copy

import pytest
from inline_snapshot import snapshot

from wf_mcp.core.envelope import (
    Envelope,
    as_initialized,
    bare_result,
    declared_to,
    extensions,
    with_envelope,
    without_envelope,
    without_server_info,
)
from wf_mcp.core.wire import JsonObject

WHO = Envelope({"roots": {}}, {"name": "c", "version": "1"}, "info")
STAMPED = with_envelope({"name": "x"}, WHO)


def test_a_request_is_stamped_with_who_asks() -> None:
    assert (
        snapshot(
            {
                "name": "x",
                "_meta": {
                    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
                    "io.modelcontextprotocol/clientCapabilities": {"roots": {}},
                    "io.modelcontextprotocol/logLevel": "info",
                },
            }
        )
        == STAMPED
    )


def test_stamping_keeps_what_else_is_in_the_meta() -> None:
    stamped = with_envelope({"_meta": {"progressToken": 1}}, Envelope())
    assert stamped["_meta"]["progressToken"] == 1
    assert "io.modelcontextprotocol/logLevel" not in stamped["_meta"]


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({**STAMPED, "_meta": {**STAMPED["_meta"], "vendor": 1}}, {"name": "x", "_meta": {"vendor": 1}}),
        (STAMPED, {"name": "x"}),
    ],
    ids=["beside others", "alone"],
)
def test_what_describes_the_clients_hop_ends_here(params: JsonObject, expected: JsonObject) -> None:
    before = copy.deepcopy(params)
    assert without_envelope(params) == expected
    assert params == before


@pytest.mark.parametrize(
    "params", [{"name": "x"}, {"_meta": None}, {"_meta": []}, {"_meta": {}}, {"_meta": {"progressToken": 1}}], ids=repr
)
def test_params_without_an_envelope_stay_the_same_object(params: JsonObject) -> None:
    assert without_envelope(params) is params


def test_a_result_without_what_its_era_adds() -> None:
    server = {"io.modelcontextprotocol/serverInfo": {"name": "up"}}
    result = {"tools": [], "resultType": "complete", "ttlMs": 5, "cacheScope": "public", "_meta": {**server, "v": 1}}
    assert bare_result(result) == {"tools": [], "_meta": {"v": 1}}
    assert bare_result({"tools": [], "_meta": server}) == {"tools": []}


def test_what_was_discovered_reads_like_an_initialize_result() -> None:
    discovered = {
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {}},
        "instructions": "Be kind.",
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "up", "version": "2"}},
    }
    assert as_initialized(discovered) == snapshot(
        {
            "protocolVersion": "2026-07-28",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "up", "version": "2"},
            "instructions": "Be kind.",
        }
    )


DECLARED: JsonObject = {"roots": {"listChanged": True}, "sampling": {"tools": {}}, "tasks": {"list": {}}}


def test_what_is_declared_fits_both_ends() -> None:
    assert declared_to("handshake", DECLARED, "handshake") == declared_to("modern", DECLARED, "modern") == DECLARED
    assert declared_to("modern", DECLARED, "handshake") == {"roots": {}, "sampling": {"tools": {}}}
    assert declared_to("handshake", {"roots": {"listChanged": True}}, "modern") == {"roots": {}}


def test_extensions_are_an_object_or_nothing() -> None:
    assert extensions({"extensions": {"x/y": {}}}) == {"x/y": {}}
    assert extensions({"extensions": None}) == extensions({}) == {}


def test_the_answering_server_s_name_alone_is_taken_off() -> None:
    key = "io.modelcontextprotocol/serverInfo"
    result: JsonObject = {"resultType": "complete", "_meta": {key: {"name": "s"}, "k": None}, "ttlMs": 1}
    assert without_server_info(result) == {"resultType": "complete", "_meta": {"k": None}, "ttlMs": 1}
    assert without_server_info({"_meta": {key: {}}}) == {}
