"""What a handshake client gets that has no session over HTTP: each of its requests stands by itself (matrix D.5, E.1).

There is no stream outside a request, nobody to ask, and nothing that is remembered from one request to the next.
"""

from typing import Final

from wf_mcp.core.wire import JsonObject

_HERE: Final = "over this client connection, which has no session"
_INSTEAD: Final = "use a session, or a client of 2026-07-28"

CANNOT_ASK: Final = "this client connection cannot answer questions; use a stateful session or a 2026-07-28 client"
"""What an upstream that asks something is told, and the client by its result (matrix D.5)."""

REFUSED: Final = {
    "resources/subscribe": f"There is no stream for resource updates {_HERE}; {_INSTEAD}",
    "resources/unsubscribe": f"There are no subscriptions {_HERE}; {_INSTEAD}",
    "logging/setLevel": f"No log level is remembered {_HERE}; {_INSTEAD}",
    "tasks/list": f"Tasks are found by their id only {_HERE}, since others may use it too; {_INSTEAD}",
}
"""Requests that cannot work, each with a sentence that says why."""


def bare_face(initialized: JsonObject) -> JsonObject:
    """An `initialize` result without the capabilities that need a session (2025-11-25 basic/lifecycle § Capability
    Negotiation).
    """
    capabilities = initialized.get("capabilities")
    if not isinstance(capabilities, dict):
        return initialized
    kept = {name: _without_state(name, value) for name, value in capabilities.items() if name != "logging"}
    return {**initialized, "capabilities": kept}


def _without_state(name: str, settings: object) -> object:
    gone = {"listChanged", "subscribe"} if name != "tasks" else {"list"}
    if name not in ("tools", "prompts", "resources", "tasks") or not isinstance(settings, dict):
        return settings
    return {key: value for key, value in settings.items() if key not in gone}
