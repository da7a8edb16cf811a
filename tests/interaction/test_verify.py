"""`wf-mcp verify`: the differential check as a command for users."""

import json

import pytest
from tests import servers
from tests.covers import covers
from tests.inbox import JsonObject
from tests.rig import FRONTS, Front, Rig

OBJECT = {"type": "object"}
SPEC: JsonObject = {
    "tools": [{"name": "get-sum", "inputSchema": OBJECT, "_meta": {"ui": {"resourceUri": "ui://a/b"}, "k": None}}],
    "prompts": [{"name": "hi"}, {"name": "needs", "arguments": [{"name": "x", "required": True}]}],
    "resources": [
        {"name": uri, "uri": uri} for uri in ("demo://x", "urn:isbn:1", "https://example.org/x", "demo://no")
    ],
    "templates": [{"name": "t", "uriTemplate": "demo://{+x}"}],
    "pages": {"size": 2},
    "results": {
        "tool:get-sum": {"content": [{"type": "resource_link", "uri": "demo://x", "name": "x", "odd": [None]}]}
    },
    "errors": {"read:demo://no": {"code": -32002, "message": "no", "data": {"uri": "demo://no"}}},
}
COMPARED = 4 + 4 + 1 + 1
"""Four lists, four reads, one prompt that needs nothing, and one call."""


def verify(rig: Rig, *args: str) -> tuple[int, str, str]:
    done = rig.run("verify", *args, "--config", str(rig.write()), seconds=60)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout, done.stderr


@covers("verify.equal", "verify ends with 0 when lists, reads, gets and calls are what they are directly")
@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_a_server_of_which_nothing_is_lost(rig: Rig, transport: str) -> None:
    (rig.upstream if transport == "stdio" else rig.http_upstream)("My Server", SPEC)
    code, out, err = verify(rig, "My Server", "--call", 'my-server.get-sum={"a": 1}')
    assert code == 0, out + err
    assert f"My Server: {COMPARED} answers compared, nothing is lost" in out
    calls = rig["My Server"].calls("get-sum")
    assert [call["arguments"] for call in calls] == [{"a": 1}] * 2
    asked = rig["My Server"].events("request", method="prompts/get")
    assert [item["params"]["name"] for item in asked] == ["hi", "hi"]


@covers("verify.modern", "verify compares in the era that the server speaks")
@pytest.mark.parametrize("transport", FRONTS)
def test_a_modern_server_of_which_nothing_is_lost(rig: Rig, transport: Front) -> None:
    rig.full("alpha", "modern", transport)
    code, out, err = verify(rig, "--call", "alpha.contents={}")
    assert code == 0, out + err
    assert "alpha: 15 answers compared, nothing is lost" in out


@covers("verify.lost", "verify names method, item, JSON path and both values of every difference, and ends with 1")
def test_what_is_lost_is_named(rig: Rig) -> None:
    rig.upstream("alpha", {"tools": [{"title": "no name"}, {"name": "t", "inputSchema": OBJECT}], "builtins": False})
    rig.upstream("beta", SPEC)
    code, out, _ = verify(rig)
    assert code == 1
    (row,) = [line for line in out.splitlines() if "tools/list" in line]
    for word in ("alpha", "(unnamed)", "$", '{"title": "no name"}', "(absent)"):
        assert word in row
    assert "alpha: 4 answers compared, 1 place differs" in out
    assert "beta: 9 answers compared, nothing is lost" in out


@covers("verify.json", "verify --json prints one object with every difference, value by value")
def test_json(rig: Rig) -> None:
    rig.upstream("alpha")
    code, out, _ = verify(rig, "alpha", "--call", "who={}", "--json")
    report = json.loads(out)
    assert (code, report["equal"]) == (1, False)
    (upstream,) = report["upstreams"]
    assert (upstream["upstream"], upstream["error"], upstream["unsteady"]) == ("alpha", None, [])
    (difference,) = upstream["differences"]
    assert [difference[key] for key in ("method", "item", "path")] == ["tools/call", "who", "$.result.content[0].text"]
    pids = [json.loads(difference[side])["pid"] for side in ("direct", "proxied")]
    assert sorted(pids) == sorted(rig["alpha"].pids)


@covers("verify.bare", "verify knows an upstream without a namespace by its own names")
def test_a_bare_mount(rig: Rig) -> None:
    rig.upstream("alpha", SPEC, wf={"namespace": ""})
    rig.upstream("beta", SPEC)
    code, out, err = verify(rig, "alpha", "--call", 'get-sum={"a": 1}')
    assert code == 0, out + err
    assert rig["beta"].pids == []


@covers("verify.unreachable", "An upstream that does not start is a line that says why, and exit code 1; others go on")
def test_a_server_that_does_not_start(rig: Rig) -> None:
    rig.upstream("broken", None, "--exit-at-once", "3")
    rig.upstream("good", SPEC)
    rig.entries["unset"] = {"command": "x", "env": {"KEY": "${NOT_SET_ANYWHERE}"}}
    code, out, _ = verify(rig)
    assert code == 1
    assert "broken: 0 answers compared, then: it cannot be reached" in out and "exit code 3" in out
    assert "NOT_SET_ANYWHERE" in out
    assert "good: 9 answers compared, nothing is lost" in out


@covers("verify.usage", "A mistake in the arguments of verify is one message and exit code 2, and starts nothing")
@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["nobody"], ["nobody", "alpha", "beta"]),
        (["off"], ["off", "disabled"]),
        (["alpha", "--call", "echo"], ["--call echo", "NAME=ARGS"]),
        (["alpha", "--call", "echo=[1]"], ["--call echo", "JSON object"]),
        (["alpha", "--call", "echo={"], ["no JSON"]),
        (["--call", "echo={}"], ["which server"]),
    ],
)
def test_mistakes_in_arguments(rig: Rig, args: list[str], words: list[str]) -> None:
    for name in ("alpha", "beta"):
        rig.upstream(name)
    rig.upstream("off", disabled=True)
    code, out, err = verify(rig, *args)
    assert code == 2, out + err
    assert all(word in err for word in words), err
    assert rig["alpha"].pids == rig["beta"].pids == []


@covers("verify.secrets", "verify shows no configured secret, also where a server answers with one")
def test_no_secret_is_shown(rig: Rig) -> None:
    rig.upstream("alpha", env={"API_KEY": "s3cr3t-0123456789"})
    for args in ((), ("--json",)):
        code, out, err = verify(rig, "alpha", "--call", "env={}", *args)
        assert code == 1
        assert "s3cr3t" not in out + err
    assert rig["alpha"].calls("env")


@covers("verify.everything", "Of server-everything nothing is lost, as verify sees it")
@pytest.mark.node
def test_server_everything(rig: Rig) -> None:
    rig.command("everything.default", servers.everything())
    code, out, err = verify(rig, "--call", 'everything.default.echo={"message": "hi"}')
    assert code == 0, out + err
