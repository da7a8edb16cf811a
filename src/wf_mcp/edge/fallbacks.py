"""The fallback tools at work: who is offered them now, and a resource read on behalf of a call.

`core/fallback.py` decides; a call that stands for another tool's is the front's, which treats it as that tool's own.
"""

from collections.abc import Callable

from wf_mcp.core.config_values import Fallback
from wf_mcp.core.errors import RelayedError, WfMcpError
from wf_mcp.core.fallback import as_tool_result, offered
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime.dispatch import Dispatch
from wf_mcp.runtime.ports import Caller


class Fallbacks:
    """`setting` is asked each time, so that a reload takes effect."""

    def __init__(self, setting: Callable[[], Fallback], dispatch: Dispatch, mask: Callable[[str], str]) -> None:
        self._setting = setting
        self._dispatch = dispatch
        self._mask = mask

    def offered(self, caller: Caller) -> tuple[str, ...]:
        """The fallback tools that `caller` sees and may call."""
        return offered(self._setting(), caller.era == "modern", caller.hello.client_info)

    async def read(self, caller: Caller, params: JsonObject) -> JsonObject:
        """A resource as a tool's result. That it cannot be read is one too, since the model chose the URI and can
        choose another (2025-11-25 server/tools § Error Handling).
        """
        try:
            return as_tool_result(await self._dispatch.call(caller, "resources/read", params))
        except WfMcpError as error:
            said = error.message if isinstance(error, RelayedError) else self._mask(error.message)
            return {"content": [{"type": "text", "text": said}], "isError": True}
