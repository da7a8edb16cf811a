"""What the Host and Origin guard's refusals say: which setting lets a request pass (design D13)."""

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_SETTING = 'If it is yours, add it to "allowed_hosts" under "wf" in the configuration.'

_REASONS = {
    421: f"The Host of this request is not one that wf-mcp answers to. {_SETTING}",
    403: f"The Origin of this request is another site. {_SETTING}",
}


class ExplainedGuard:
    """Stands around the guard and puts a sentence in place of its bare refusals; all else passes as it is."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        refused = False

        async def explained(message: Message) -> None:
            nonlocal refused
            if message["type"] == "http.response.start" and _by_the_guard(message):
                refused = True
                await PlainTextResponse(_REASONS[message["status"]], message["status"])(scope, receive, send)
            elif not refused:
                await send(message)

        await self.app(scope, receive, explained)


def _by_the_guard(start: Message) -> bool:
    """The guard's refusals have no type; those of the authentication, and our own, are JSON."""
    return start["status"] in _REASONS and all(name != b"content-type" for name, _ in start.get("headers", []))
