"""A client with somebody at it, in either era: whatever a call asks, it is answered, and what was asked is kept."""

from typing import Any

from tests.inbox import JsonObject
from tests.rawclient import META, RawClient, RawError

ROUNDS = 10
"""Times that one call may ask before a test gives up."""


class Person:
    """Completes calls; `asked` holds every question as `{"method", "params"}`, in order."""

    def __init__(self, client: RawClient) -> None:
        self.client = client
        self._asked: list[JsonObject] = []

    @property
    def modern(self) -> bool:
        """Whether the client speaks 2026-07-28."""
        return self.client.era == "modern"

    @property
    def asked(self) -> list[JsonObject]:
        """Every question so far."""
        seen = [*self.client.asked, *self._asked]
        return [{"method": each["method"], "params": each.get("params", {})} for each in seen]

    async def do(self, method: str, params: JsonObject) -> JsonObject:
        """A request to its end: questions of a modern call are answered by calling again with the answers."""
        result = await self.client.request(method, params)
        for _ in range(ROUNDS):
            if result.get("resultType") != "input_required":
                return result
            result = await self.client.request(method, {**params, **self.answers(result)})
        raise AssertionError(f"{method} still asks after {ROUNDS} rounds: {result}")

    def answers(self, result: JsonObject) -> JsonObject:
        """What a retry adds to the parameters, for an `input_required` result."""
        questions = result.get("inputRequests", {})
        self._asked += questions.values()
        added: JsonObject = {"inputResponses": {key: self.client.answers[q["method"]] for key, q in questions.items()}}
        return added | ({"requestState": result["requestState"]} if "requestState" in result else {})

    async def call(self, tool: str, arguments: JsonObject | None = None, **meta: Any) -> JsonObject:
        """A tool of the upstream `full`, completed."""
        params: JsonObject = {"name": f"full.{tool}", "arguments": arguments or {}}
        return await self.do("tools/call", params | ({"_meta": meta} if meta else {}))

    async def refusal(self, method: str, params: JsonObject) -> RawError:
        """The error that a request ends with."""
        try:
            result = await self.client.request(method, params)
        except RawError as error:
            return error
        raise AssertionError(f"{method} was answered: {result}")

    def log_level(self, level: str) -> JsonObject:
        """The `_meta` that asks for log messages with one request."""
        return {f"{META}/logLevel": level} if self.modern else {}
