"""A handshake client asked for what a modern upstream wants to know, on the stream of its own call (matrix D.3).

All questions of one result are put at once; where one is refused, the others are withdrawn.
"""

import secrets

import anyio

from wf_mcp.core.errors import NotServed, WfMcpError
from wf_mcp.core.inputs import ELICITATION, QUESTIONS, CannotAsk, input_requests, lacking, named, params_of
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime.ports import Caller, ClientPort
from wf_mcp.runtime.resolve import Route

COMPLETE = "notifications/elicitation/complete"


class Inquiry:
    """Everything that is asked of one call's client."""

    def __init__(self, caller: Caller, route: Route) -> None:
        self._caller = caller
        self._route = route
        self._accepted: list[str] = []

    async def answers(self, result: JsonObject, known: frozenset[str] = frozenset()) -> JsonObject:
        """The `inputResponses` to what `result` asks, but for the keys that are `known`.

        Raises `CannotAsk` where the client cannot be asked, and the client's own error where it refuses.
        """
        wanted = {key: each for key, each in input_requests(result).items() if key not in known}
        port = self._vetted(wanted)
        answers: JsonObject = {}
        failures: list[WfMcpError] = []
        async with anyio.create_task_group() as tasks:

            async def put(key: str, request: JsonObject) -> None:
                try:
                    answers[key] = await self._ask(port, request["method"], params_of(request))
                except WfMcpError as error:
                    failures.append(error)
                    tasks.cancel_scope.cancel()

            for key, request in wanted.items():
                tasks.start_soon(put, key, request)
        if failures:
            raise failures[0]
        return {key: answers[key] for key in wanted}

    async def finished(self) -> None:
        """The call succeeded: what it asked the user to do elsewhere is done (2025-11-25 client/elicitation)."""
        if self._caller.port is not None:
            for elicitation in self._accepted:
                await self._caller.port.tell(COMPLETE, {"elicitationId": elicitation})

    def _vetted(self, wanted: dict[str, JsonObject]) -> ClientPort:
        """The client's port; raises before anything is asked where some question cannot be put."""
        needed: JsonObject = {}
        for request in wanted.values():
            method, params = request["method"], params_of(request)
            if method not in QUESTIONS:
                raise WfMcpError(
                    f"Upstream {self._route.mount.id!r} asks for {method} in a result, which 2026-07-28 does not know; "
                    "its author has to mend that"
                )
            required = lacking(self._caller.hello.capabilities, method, params)
            if required is not None:
                raise self._missing("this client did not declare", required)
            needed |= lacking({}, method, params) or {}
        if self._caller.port is None:
            raise self._missing("this client cannot be asked for", needed)
        return self._caller.port

    async def _ask(self, port: ClientPort, method: str, params: JsonObject) -> JsonObject:
        if params.get("mode") == "url" and "elicitationId" not in params:
            # 2026-07-28 has none, and a handshake client needs one that nobody can guess.
            params = {**params, "elicitationId": secrets.token_urlsafe(16)}
        translation = self._route.session.inbox.translation
        shown = translation.to_client(method, _without_token(params))
        try:
            answer = await port.ask(method, shown)
        except NotServed as error:
            required = lacking({}, method, params) or {}
            raise self._missing("this client cannot be asked for", required, error.message) from error
        if method == ELICITATION and answer.get("action") == "accept" and "elicitationId" in shown:
            self._accepted.append(shown["elicitationId"])
        return translation.from_client(method, answer)

    def _missing(self, why: str, required: JsonObject, reason: str = "") -> CannotAsk:
        said = f"Upstream {self._route.mount.id!r} needs what {why}: {named(required)}"
        return CannotAsk(f"{said} ({reason})" if reason else said, required)


def _without_token(params: JsonObject) -> JsonObject:
    """`params` without a progress token: there is no way on which progress could reach a modern upstream."""
    meta = params.get("_meta")
    if not isinstance(meta, dict) or "progressToken" not in meta:
        return params
    return {**params, "_meta": {key: value for key, value in meta.items() if key != "progressToken"}}
