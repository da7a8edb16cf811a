"""What a client asks to be told on a `subscriptions/listen` stream, and what it is promised (2026-07-28
basic/patterns/subscriptions; the tasks extension adds `taskIds`).
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from wf_mcp.core.envelope import SUBSCRIPTION_ID_META_KEY
from wf_mcp.core.errors import InvalidParams
from wf_mcp.core.notify import PROMPTS, RESOURCES, TOOLS
from wf_mcp.core.wire import JsonObject

ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
UPDATED: Final = "notifications/resources/updated"
TASKS: Final = "notifications/tasks"

LISTS: Final = {"toolsListChanged": TOOLS, "promptsListChanged": PROMPTS, "resourcesListChanged": RESOURCES}
"""The filter's flags, and the notification that each of them asks for."""

_URIS: Final = "resourceSubscriptions"
_TASKS: Final = "taskIds"


@dataclass(frozen=True, slots=True)
class SubscriptionFilter:
    """The notifications of one stream: list changes by their methods, resources and tasks by what the client calls
    them.
    """

    lists: frozenset[str] = frozenset()
    uris: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()

    def as_json(self) -> JsonObject:
        """The `notifications` object of an acknowledgement: what is not honoured is left out."""
        honoured: JsonObject = {flag: True for flag, method in LISTS.items() if method in self.lists}
        if self.uris:
            honoured[_URIS] = list(self.uris)
        if self.tasks:
            honoured[_TASKS] = list(self.tasks)
        return honoured

    def honouring(self, uris: Iterable[str], tasks: Iterable[str] = ()) -> "SubscriptionFilter":
        """The part of this filter that is left when only these of its resources and tasks can be heard of."""
        heard, followed = set(uris), set(tasks)
        return replace(
            self,
            uris=tuple(uri for uri in self.uris if uri in heard),
            tasks=tuple(task for task in self.tasks if task in followed),
        )


def asked_for(params: JsonObject) -> SubscriptionFilter:
    """The filter in a listen request's params; raises `InvalidParams` where it has not the shape of one.

    What the filter has beside the known keys asks for something that wf-mcp does not serve, and is left out.
    """
    wanted = params.get("notifications")
    if not isinstance(wanted, dict):
        raise InvalidParams("subscriptions/listen needs a 'notifications' object in its params")
    for flag in LISTS:
        if not isinstance(wanted.get(flag), bool | None):
            raise InvalidParams(f"subscriptions/listen: notifications.{flag} must be true or false")
    lists = frozenset(method for flag, method in LISTS.items() if wanted.get(flag))
    return SubscriptionFilter(lists, _strings(wanted, _URIS), _strings(wanted, _TASKS))


def names_tasks(params: JsonObject) -> bool:
    """Whether a listen request asks for tasks at all, which only a client with the tasks extension may."""
    wanted = params.get("notifications")
    return isinstance(wanted, dict) and wanted.get(_TASKS) is not None


def concerns(subscribed: str, uri: str) -> bool:
    """Whether a change of `uri` is news for a subscriber: of itself, or of a resource above it (matrix B.4)."""
    return uri == subscribed or uri.startswith(subscribed.rstrip("/") + "/")


def stamped(params: JsonObject, subscription: str | int) -> JsonObject:
    """`params`, or a result, with the id of the stream that it belongs to, which every message on it carries."""
    meta = params.get("_meta")
    return {**params, "_meta": {**(meta if isinstance(meta, dict) else {}), SUBSCRIPTION_ID_META_KEY: subscription}}


def _strings(wanted: dict[str, Any], key: str) -> tuple[str, ...]:
    value = wanted.get(key)
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise InvalidParams(f"subscriptions/listen: notifications.{key} must be an array of strings")
    return tuple(dict.fromkeys(cast(list[str], value)))
