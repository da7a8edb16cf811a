"""The client that the suite's client scenarios start: it uses the scenario's server as wf-mcp's one upstream.

`python -m tests.conformance.client_driver ERA URL`: a raw client of that era in front, over stdio. The scenario's name
is in the variable MCP_CONFORMANCE_SCENARIO, what it wants called in MCP_CONFORMANCE_CONTEXT. The suite checks what
wf-mcp sends to its upstream; where a scenario is about the host behind the client, this client plays the host.

The upstream's era is found out where the client speaks it, too. Else it is configured, so that the first attempt is
not one in the client's own era, which the scenarios of one revision take for a fault.
"""

import json
import os
import sys
import tempfile
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, cast

import anyio
from tests.inbox import JsonObject
from tests.rawclient import Era, RawClient, RawError
from tests.rig import Rig

Script = Callable[[RawClient], Awaitable[None]]
SECONDS = 20
ERA_OF: dict[str, Era] = {"2025-11-25": "handshake", "2026-07-28": "modern"}
FOCAL, ECHO = "json_schema_2020_12_tool", "json_schema_echo"


async def add(client: RawClient) -> None:
    """Lists and calls."""
    await client.items("tools/list", "tools")
    await client.call("add_numbers", {"a": 5, "b": 3})


async def list_tools(client: RawClient) -> None:
    """Lists, and nothing else."""
    await client.items("tools/list", "tools")


async def use_defaults(client: RawClient) -> None:
    """Answers a form with what its schema proposes, as SEP-1034 wants it of hosts."""
    await client.items("tools/list", "tools")
    await rounds(client, "test_client_elicitation_defaults", proposed)


async def reconnect(client: RawClient) -> None:
    """A call whose stream breaks."""
    await client.items("tools/list", "tools")
    await client.call("test_reconnection", {}, seconds=SECONDS)


async def carry_states(client: RawClient) -> None:
    """Rounds with a state, rounds without one, another tool in between, and a result without a type."""
    await client.items("tools/list", "tools")
    await rounds(client, "test_mrtr_echo_state", confirmed, between=partial(client.call, "test_mrtr_unrelated", {}))
    await rounds(client, "test_mrtr_no_state", confirmed)
    await client.call("test_mrtr_no_result_type", {})


async def use_everything(client: RawClient) -> None:
    """All methods that carry a name or a URI."""
    for tool in await client.items("tools/list", "tools"):
        await client.call(tool["name"], {})
    for resource in await client.items("resources/list", "resources"):
        await client.read(resource["uri"])
    for prompt in await client.items("prompts/list", "prompts"):
        await client.request("prompts/get", {"name": prompt["name"]})


async def call_as_told(client: RawClient) -> None:
    """The calls of the scenario's context."""
    await client.items("tools/list", "tools")
    for call in json.loads(os.environ["MCP_CONFORMANCE_CONTEXT"])["toolCalls"]:
        await client.call(call["name"], call["arguments"])


async def call_what_is_listed(client: RawClient) -> None:
    """Every tool that is left in the list."""
    for tool in await client.items("tools/list", "tools"):
        await client.call(tool["name"], {name: "x" for name in tool["inputSchema"].get("required", [])})


async def echo_schema(client: RawClient) -> None:
    """Gives a schema back as it came."""
    found = {tool["name"]: tool for tool in await client.items("tools/list", "tools")}
    await client.call(ECHO, {"schema": found[FOCAL]["inputSchema"]})


async def list_skills(client: RawClient) -> None:
    """Lists skills without loading any."""
    await client.items("skills/list", "skills")


SCRIPTS: dict[str, Script] = {
    "initialize": list_tools,
    "tools_call": add,
    "elicitation-sep1034-client-defaults": use_defaults,
    "sse-retry": reconnect,
    "request-metadata": list_tools,
    "sep-2322-client-request-state": carry_states,
    "http-standard-headers": use_everything,
    "http-custom-headers": call_as_told,
    "http-invalid-tool-headers": call_what_is_listed,
    "json-schema-ref-no-deref": list_tools,
    "json-schema-2020-12-preservation": echo_schema,
    "sep-2640-client-no-prefetch": list_skills,
}


def confirmed(question: JsonObject) -> JsonObject:
    """Yes."""
    return {"action": "accept", "content": {"confirmed": True}}


def proposed(question: JsonObject) -> JsonObject:
    """The defaults."""
    fields: JsonObject = question["params"]["requestedSchema"]["properties"]
    return {
        "action": "accept",
        "content": {name: each["default"] for name, each in fields.items() if "default" in each},
    }


async def rounds(
    client: RawClient,
    tool: str,
    answer: Callable[[JsonObject], JsonObject],
    between: Callable[[], Awaitable[Any]] | None = None,
) -> None:
    """A call to its end, whichever way the client is asked: in rounds, or by requests meanwhile."""

    async def reply(question: JsonObject) -> JsonObject:
        if between is not None:
            await between()
        return answer(question)

    client.replies["elicitation/create"] = reply
    extra: JsonObject = {}
    while True:
        result = await client.request("tools/call", {"name": tool, "arguments": {}, **extra}, seconds=SECONDS)
        if result.get("resultType") != "input_required":
            return
        if between is not None:
            await between()
        extra = {"requestState": result["requestState"]} if "requestState" in result else {}
        extra["inputResponses"] = {key: answer(each) for key, each in result.get("inputRequests", {}).items()}


async def drive(era: Era, url: str) -> None:
    """Runs the scenario's script."""
    rig = Rig(Path(tempfile.mkdtemp(prefix="conformance-client-")))
    served = ERA_OF[os.environ["MCP_CONFORMANCE_PROTOCOL_VERSION"]]
    settings = {"namespace": ""} | ({} if served == era else {"era": served})
    rig.entries["scenario"] = {"type": "http", "url": url, "wf": settings}
    capabilities = {"roots": {}, "sampling": {}, "elicitation": {"form": {"applyDefaults": True}}}
    capabilities |= {"extensions": {"io.modelcontextprotocol/skills": {}}}
    try:
        async with rig.serve("stdio").raw(era, capabilities=capabilities) as client:
            await SCRIPTS[os.environ["MCP_CONFORMANCE_SCENARIO"]](client)
    except RawError as error:
        sys.exit(f"{error}\n{rig.log()[-3000:]}")
    finally:
        rig.close()


if __name__ == "__main__":
    anyio.run(drive, cast(Era, sys.argv[1]), sys.argv[2])
