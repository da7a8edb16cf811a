"""`/healthz` and `/readyz` of the HTTP front: whether the process is alive, and whether it takes requests.

They need no token and say nothing but how many upstreams are in which state. The Host and Origin guard holds for them
too, but for one thing: a request that names the front by an IP address passes. Orchestrators name it so, by one that no
configuration can know; what the guard is against, a name that a stranger's DNS points at us, is no address.
"""

from collections.abc import Callable, Mapping
from http import HTTPStatus
from ipaddress import ip_address
from typing import Final

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

HEALTH: Final = "/healthz"
READY: Final = "/readyz"
ASKING: Final = frozenset({"GET", "HEAD"})


class Probes:
    """Answers both; `stopping` says whether the front takes no more, `states` how many upstreams are in which state.

    A failed upstream does not make the front unready: the others are served, and a restart would not mend it.
    """

    def __init__(self, stopping: Callable[[], bool], states: Callable[[], Mapping[str, int]] = dict) -> None:
        self._stopping, self._states = stopping, states

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request for either of the paths."""
        await self._answer(scope)(scope, receive, send)

    def _answer(self, scope: Scope) -> JSONResponse:
        headers = {"cache-control": "no-store"}
        if scope["method"] not in ASKING:
            refused = {**headers, "allow": "GET, HEAD"}
            return JSONResponse({"status": "ask with GET"}, HTTPStatus.METHOD_NOT_ALLOWED, refused)
        if scope["path"] == HEALTH:
            return JSONResponse({"status": "alive"}, headers=headers)
        stopping = self._stopping()
        status = HTTPStatus.SERVICE_UNAVAILABLE if stopping else HTTPStatus.OK
        said = {"status": "stopping" if stopping else "ready", "upstreams": dict(self._states())}
        return JSONResponse(said, status, headers)


class ProbedByAddress:
    """Stands around the guard, and takes what `probes` may answer without it; all else passes as it is."""

    def __init__(self, app: ASGIApp, probes: Probes) -> None:
        self.app, self._probes = app, probes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        probing = scope["type"] == "http" and scope["path"] in (HEALTH, READY) and _by_address(Headers(scope=scope))
        await (self._probes if probing else self.app)(scope, receive, send)


def _by_address(headers: Headers) -> bool:
    """Whether a request, not one that a web page makes, names its host by an IP address."""
    host = headers.get("host", "")
    name = host[1:].partition("]")[0] if host.startswith("[") else host.rpartition(":")[0] or host
    try:
        ip_address(name)
    except ValueError:
        return False
    return "origin" not in headers
