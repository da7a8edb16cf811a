"""One request of a client sent along its route: what the upstream is told of who asks, and its errors in the client's
terms.
"""

from typing import Any, Final

from wf_mcp.core.envelope import Envelope, declared_to, extensions
from wf_mcp.core.errors import RelayedError
from wf_mcp.core.ids import local_id, map_elicitations, map_related_task, public_id
from wf_mcp.core.rewrite import map_error_data
from wf_mcp.core.tasks import TASKS_EXTENSION
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime.ports import Asker, Caller
from wf_mcp.runtime.resolve import Route
from wf_mcp.runtime.session import UpstreamSession

_OF_TASKS: Final = frozenset({"tools/call", "tasks/get", "tasks/update", "tasks/cancel"})
_ASKED: Final = ("elicitation", "sampling", "roots")
_EVERYTHING: Final = "debug"


async def send(caller: Caller, route: Route, method: str, target: str, params: JsonObject) -> JsonObject:
    """Relay one request along its route; raises `WfMcpError`, an upstream's own error in the client's terms."""
    label = route.mount.label
    params = map_related_task(params, lambda task: local_id(label, task) or task)
    asker = Asker(caller.port, _headers(caller, route), told(caller, route.session, method))
    try:
        return await route.session.request(method, params, asker)
    except RelayedError as error:
        raise RelayedError(error.code, error.message, error_data(error.data, route, target)) from error


def told(caller: Caller, session: UpstreamSession, method: str) -> Envelope:
    """Who asks, as a modern upstream is told with one request (matrix D.2, D.3).

    For a handshake client, wf-mcp drives tasks itself, and the level of its log is what it asked for once: where it
    never did, everything is sent, as handshake servers do.
    """
    declared = declared_to("modern", caller.hello.capabilities, caller.era)
    if caller.era == "modern":
        return Envelope(declared, caller.hello.client_info, caller.log_level)
    if caller.port is None:
        declared = {name: value for name, value in declared.items() if name not in _ASKED}
    if method in _OF_TASKS:
        declared["extensions"] = {**extensions(declared), TASKS_EXTENSION: {}}
    level = session.inbox.wishes.level_of(caller.audience.client) or _EVERYTHING
    return Envelope(declared, caller.hello.client_info, level)


def error_data(data: Any, route: Route, target: str) -> Any:
    """An error's data in the client's terms: what it asked for reads as it wrote it."""

    def public(uri: str) -> str:
        return target if uri == route.local else route.mount.namespace.public_uri(uri)

    return map_elicitations(map_error_data(data, public), lambda each: public_id(route.mount.label, each))


def _headers(caller: Caller, route: Route) -> dict[str, str]:
    """The caller's headers that this upstream's config asks for; none by default (design D13)."""
    wanted = route.mount.upstream.settings.forward_headers
    return {name: caller.headers[name.lower()] for name in wanted if name.lower() in caller.headers}
