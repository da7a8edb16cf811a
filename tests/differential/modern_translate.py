"""The positions of 2026-07-28 beside those that both eras have (matrix A.3, A.4, C.1 to C.3).

What each hop makes for itself is no difference: the opaque `requestState`, and who says that it is the server.
"""

from dataclasses import dataclass
from typing import Any

from tests.differential.translate import Back, each, field
from tests.mapping import uri_back
from tests.rawclient import META

SERVER_INFO, SUBSCRIPTION = f"{META}/serverInfo", f"{META}/subscriptionId"
TASK_METHODS = ("tasks/get", "tasks/update", "tasks/cancel")
BY_URI = ("skills/get", "resources/directory/read")


@dataclass(frozen=True)
class ModernBack(Back):
    """From the client's wire of a proxied run to the upstream's terms."""

    def request(self, method: str, params: Any, *, of_client: bool) -> Any:
        """The params of a request; answers to questions hold blocks of content."""
        params = super().request(method, params, of_client=of_client)
        params = field(params, "inputResponses", self._answers)
        params = field(params, "requestState", opaque)
        if method == "subscriptions/listen":
            params = field(params, "notifications", self._filter)
        return field(params, "uri", self.uri) if method in BY_URI else params

    def note(self, method: str, params: Any, *, of_client: bool) -> Any:
        """The params of a notification."""
        params = super().note(method, params, of_client=of_client)
        params = field(params, "_meta", lambda meta: field(meta, SUBSCRIPTION, lambda _: "OF ITS REQUEST"))
        if method == "notifications/subscriptions/acknowledged":
            return field(params, "notifications", self._filter)
        return self._task(params) if method == "notifications/tasks" else params

    def result(self, method: str, result: Any, *, of_client: bool) -> Any:
        """A result, with what it asks."""
        result = super().result(method, result, of_client=of_client)
        result = field(field(result, "inputRequests", self._questions), "requestState", opaque)
        result = field(result, "_meta", lambda meta: field(meta, SERVER_INFO, somebody))
        if method == "tools/call" or method in TASK_METHODS:
            result = self._task(result, mapped=method in TASK_METHODS)
        if method == "skills/get":
            return field(result, "skill", self._skill)
        if method == "resources/directory/read":
            return field(result, "resources", each(lambda entry: field(entry, "uri", self.uri)))
        return result

    def _listed(self, method: str, items: Any) -> Any:
        if method != "skills/list":
            return super()._listed(method, items)
        mine = [item for item in items if all(uri_back(other, item["uri"]) == item["uri"] for other in self.others)]
        return [self._skill(item) for item in mine]

    def _task(self, task: Any, *, mapped: bool = False) -> Any:
        """A flat task; its id was mapped already where the method says that it is one."""
        task = task if mapped else field(task, "taskId", self.id)
        task = field(task, "result", lambda result: self.app_meta(field(result, "content", self.blocks)))
        return field(task, "error", lambda error: self.error(error, of_client=False))

    def _questions(self, asked: Any) -> Any:
        return {
            key: field(each, "params", lambda params, m=each["method"]: self._of_upstream(m, params))
            for key, each in asked.items()
        }

    def _answers(self, answers: Any) -> Any:
        return {key: field(answer, "content", self.blocks) for key, answer in answers.items()}

    def _filter(self, wanted: Any) -> Any:
        return field(field(wanted, "resourceSubscriptions", each(self.uri)), "taskIds", each(self.id))

    def _skill(self, skill: Any) -> Any:
        return field(
            field(skill, "uri", self.uri), "resources", each(lambda resource: field(resource, "uri", self.uri))
        )


@dataclass(frozen=True)
class Same(ModernBack):
    """A direct connection's own terms: nothing is mapped, and what each hop makes for itself is left out."""

    def name(self, public: Any) -> Any:
        return public

    def id(self, public: Any) -> Any:
        return public

    def uri(self, public: Any) -> Any:
        return public

    def _listed(self, method: str, items: Any) -> Any:
        """Everything is the one upstream's."""
        return items


def opaque(state: Any) -> Any:
    """Any text stands for any other."""
    return "STATE" if isinstance(state, str) else state


def somebody(info: Any) -> Any:
    """Whoever answers, as long as it says who it is."""
    return "SERVER" if isinstance(info, dict) and {"name", "version"} <= info.keys() else info
