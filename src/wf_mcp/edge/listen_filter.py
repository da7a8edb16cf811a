"""What a `subscriptions/listen` asks for, and which subscription a notification belongs to (2026-07-28
basic/patterns/subscriptions, matrix A.4).
"""

from collections.abc import Mapping
from typing import Any, Final

from wf_mcp.core.envelope import SUBSCRIPTION_ID_META_KEY
from wf_mcp.core.listen import concerns
from wf_mcp.core.wire import JsonObject

URIS: Final = "resourceSubscriptions"

LIST_TYPES: Final[Mapping[str, tuple[str, str]]] = {
    "tools": ("toolsListChanged", "notifications/tools/list_changed"),
    "prompts": ("promptsListChanged", "notifications/prompts/list_changed"),
    "resources": ("resourcesListChanged", "notifications/resources/list_changed"),
}
"""Capability with `listChanged` → the filter's field and the notification that it asks for."""


class Wanted:
    """The changes that one link is to hear of: the lists that the upstream declares, and what was asked for."""

    def __init__(self, capabilities: JsonObject) -> None:
        self._types = tuple(kind for kind in LIST_TYPES if _flag(capabilities, kind, "listChanged"))
        self.subscribes = _flag(capabilities, "resources", "subscribe")
        self.uris: dict[str, None] = {}
        self.tasks: dict[str, None] = {}

    def filter(self) -> JsonObject:
        """The filter of a listen request; empty where there is nothing to hear of."""
        wanted: JsonObject = {LIST_TYPES[kind][0]: True for kind in self._types}
        if self.uris:
            wanted[URIS] = list(self.uris)
        if self.tasks:
            wanted["taskIds"] = list(self.tasks)
        return wanted

    def names(self, uri: object) -> bool:
        """Whether a change of `uri` was asked for: of itself, or of a resource above it (matrix B.4)."""
        return isinstance(uri, str) and any(concerns(each, uri) for each in self.uris)


def subscription_of(params: Mapping[str, Any] | None) -> tuple[object, JsonObject]:
    """The subscription id of a notification, and the notification's params without it."""
    body = dict(params or {})
    meta = body.get("_meta")
    if not isinstance(meta, dict) or SUBSCRIPTION_ID_META_KEY not in meta:
        return None, body
    rest = {key: value for key, value in meta.items() if key != SUBSCRIPTION_ID_META_KEY}
    del body["_meta"]
    return meta[SUBSCRIPTION_ID_META_KEY], {**body, "_meta": rest} if rest else body


def _flag(capabilities: JsonObject, kind: str, name: str) -> bool:
    declared = capabilities.get(kind)
    return isinstance(declared, dict) and declared.get(name) is True
