"""A link to a front of this very process."""

from dataclasses import replace

import anyio
import pytest
from fastmcp import FastMCP

from wf_mcp.core.envelope import Era
from wf_mcp.core.errors import NotServed, RelayedError, UpstreamUnavailable
from wf_mcp.core.wire import JsonObject
from wf_mcp.edge.loopback import Deaf, open_front
from wf_mcp.edge.seams import low_level_server
from wf_mcp.runtime.ports import Hello

pytestmark = pytest.mark.anyio

HELLO = Hello({}, {"name": "test", "version": "1"}, "2025-11-25")


@pytest.mark.parametrize("era", ["handshake", "modern"])
async def test_it_speaks_as_a_client_on_stdio_would_hear(era: Era) -> None:
    server = FastMCP("here", version="7")

    @server.tool
    def say() -> str:
        return "said"

    with anyio.fail_after(20):
        async with open_front(server, replace(HELLO, era=era), 5) as link:
            assert link.era == era
            assert link.initialized["serverInfo"]["name"] == "here"
            page = await link.request("tools/list", {})
            with pytest.raises(RelayedError):
                await link.request("no/such/method", {})
    assert [item["name"] for item in page["tools"]] == ["say"]


async def test_a_front_that_does_not_answer_is_given_up() -> None:
    server = FastMCP("here")

    async def silent(ctx: object, call_next: object) -> JsonObject:
        await anyio.sleep_forever()
        return {}

    low_level_server(server).middleware.insert(0, silent)
    with anyio.fail_after(20):
        with pytest.raises(ExceptionGroup) as caught:
            async with open_front(server, HELLO, 0.1):
                pytest.fail("it answered")
    error: BaseException = caught.value
    while isinstance(error, BaseExceptionGroup):
        (error,) = error.exceptions
    assert isinstance(error, UpstreamUnavailable)


async def test_nobody_is_asked_and_nobody_hears() -> None:
    with pytest.raises(NotServed, match="roots/list"):
        await Deaf().asked("roots/list", {})
    Deaf().heard("notifications/message", None)
