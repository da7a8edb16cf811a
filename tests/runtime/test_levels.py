"""The log level that modern clients want of a handshake upstream (matrix D.3)."""

import pytest
from tests.runtime.guests import guest
from tests.runtime.memory import CAPABILITIES, Twin
from tests.runtime.stage import running, session_of

from wf_mcp.runtime.levels import raised

pytestmark = pytest.mark.anyio


async def test_the_most_verbose_level_that_any_request_wanted_is_asked_for_once() -> None:
    twin = Twin("alpha", capabilities={**CAPABILITIES, "logging": {}})
    twin.give("logging/setLevel", {})
    async with running(session_of(twin)) as session:
        await session.link()
        session.inbox.wishes.set_level("a handshake client", "warning")
        for level in ("error", "info", "warning", None, "info", "debug"):
            await raised(guest(log_level=level), session)
        assert [each.params["level"] for each in twin.of("logging/setLevel")] == ["info", "debug"]
        assert session.inbox.wishes.level == "debug"


async def test_an_upstream_that_does_not_log_is_not_asked() -> None:
    twin = Twin("alpha")
    async with running(session_of(twin)) as session:
        await session.link()
        await raised(guest(log_level="debug"), session)
        assert twin.of("logging/setLevel") == []
