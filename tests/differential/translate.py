"""One proxied message in the upstream's own terms: names, URIs and ids mapped back, position by position.

Written from design D6 and D7 and matrix C.1 to C.4 alone, not from `src`. Only the positions that the matrix names are
mapped, so that a URI rewritten anywhere else is a difference; and in those positions everything must have been mapped:
what was not comes back as `UNMAPPED …`, which equals nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.inbox import JsonObject
from tests.mapping import uri_back

RELATED = "io.modelcontextprotocol/related-task"
NAMED = ("tools/list", "prompts/list")
BY_URI = ("resources/read", "resources/subscribe", "resources/unsubscribe")
LIST_KEYS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "tasks/list": "tasks",
    "skills/list": "skills",
}
Change = Callable[[Any], Any]


def public_name(label: str, name: str) -> str:
    """Design D6, the dotted form."""
    return f"{label}.{name}"


def public_id(label: str, local: str) -> str:
    """The form of ids that are unique at their upstream only (matrix C.2)."""
    return f"{label}:{local}"


def public_uri(label: str, uri: str) -> str:
    """Design D7."""
    scheme, mark, rest = uri.partition("://")
    path = label.replace(".", "/")
    if scheme.lower() in ("http", "https"):
        return uri
    if not mark:
        return f"wf://{path}/{uri}"
    return f"{scheme}:///{path}{rest}" if rest[:1] in ("", "/") else f"{scheme}://{path}/{rest}"


@dataclass(frozen=True)
class Back:
    """From the client's wire of a proxied run to the upstream's terms; `others` are the labels mounted beside it."""

    label: str
    others: tuple[str, ...] = ()

    def request(self, method: str, params: Any, *, of_client: bool) -> Any:
        """The params of a request, of the client's or of the upstream's."""
        return self._of_client(method, params) if of_client else self._of_upstream(method, params)

    def _of_client(self, method: str, params: Any) -> Any:
        params = related(params, self.id)
        if method in ("tools/call", "prompts/get"):
            return field(params, "name", self.name)
        if method in BY_URI:
            return field(params, "uri", self.uri)
        if method == "completion/complete":
            return field(params, "ref", lambda ref: field(field(ref, "name", self.name), "uri", self.uri))
        return field(params, "taskId", self.id) if method.startswith("tasks/") else params

    def _of_upstream(self, method: str, params: Any) -> Any:
        params = related(params, self.id)
        if method == "sampling/createMessage":
            params = field(params, "messages", each(lambda message: field(message, "content", self.blocks)))
            return field(params, "tools", each(self.app_meta))
        return field(params, "elicitationId", self.id) if method == "elicitation/create" else params

    def note(self, method: str, params: Any, *, of_client: bool) -> Any:
        """The params of a notification."""
        if of_client:
            return params
        params = related(params, self.id)
        keys: dict[str, tuple[str, Change]] = {
            "notifications/resources/updated": ("uri", self.uri),
            "notifications/elicitation/complete": ("elicitationId", self.id),
            "notifications/tasks/status": ("taskId", self.id),
        }
        return field(params, *keys[method]) if method in keys else params

    def result(self, method: str, result: Any, *, of_client: bool) -> Any:
        """A result, of the upstream's or (an answer to a question) of the client's."""
        if of_client:
            return field(result, "content", self.blocks) if method == "sampling/createMessage" else result
        result = related(result, self.id)
        if method in LIST_KEYS:
            return field(result, LIST_KEYS[method], lambda items: self._listed(method, items))
        if method in ("tools/call", "tasks/result"):
            result = self.app_meta(field(result, "content", self.blocks))
            return field(result, "task", lambda task: field(task, "taskId", self.id))
        if method == "prompts/get":
            return field(result, "messages", each(lambda message: field(message, "content", self.blocks)))
        if method == "resources/read":
            return field(result, "contents", each(lambda content: field(content, "uri", self.uri)))
        return field(result, "taskId", self.id) if method.startswith("tasks/") else result

    def error(self, error: Any, *, of_client: bool) -> Any:
        """An error: the URI and the elicitations in its data."""
        if of_client:
            return error

        def in_data(data: Any) -> Any:
            return field(
                field(data, "uri", self.uri), "elicitations", each(lambda e: field(e, "elicitationId", self.id))
            )

        return field(error, "data", in_data)

    def _listed(self, method: str, items: list[JsonObject]) -> list[JsonObject]:
        if method == "tasks/list":
            return [field(task, "taskId", self.id) for task in items]
        if method in NAMED:
            mine = [i for i in items if not i["name"].startswith(tuple(f"{o}." for o in ("wf", *self.others)))]
            return [self.app_meta(field(item, "name", self.name)) for item in mine]
        key = "uri" if method == "resources/list" else "uriTemplate"
        mine = [item for item in items if all(uri_back(other, item[key]) == item[key] for other in self.others)]
        return [field(item, key, self.uri) for item in mine]

    def app_meta(self, holder: Any) -> Any:
        """Matrix C.1 row 9."""

        def in_meta(meta: Any) -> Any:
            meta = field(meta, "ui", lambda ui: field(ui, "resourceUri", self.uri))
            return field(field(meta, "ui/resourceUri", self.uri), "openai/outputTemplate", self.uri)

        return field(holder, "_meta", in_meta)

    def blocks(self, content: Any) -> Any:
        """One content block, or a list of them; `tool_result` holds others."""
        if isinstance(content, list):
            return [self.blocks(block) for block in content]
        kind = content.get("type") if isinstance(content, dict) else None
        if kind == "resource_link":
            return field(content, "uri", self.uri)
        if kind == "resource":
            return field(content, "resource", lambda resource: field(resource, "uri", self.uri))
        return field(content, "content", self.blocks) if kind == "tool_result" else content

    def name(self, public: Any) -> Any:
        """The upstream's form of a name."""
        return self._strip(public, f"{self.label}.")

    def id(self, public: Any) -> Any:
        """The upstream's form of an id."""
        return self._strip(public, f"{self.label}:")

    def uri(self, public: Any) -> Any:
        """The upstream's form of a URI or template; those of the web are the same, and so is what is no text."""
        if not isinstance(public, str) or public.lower().startswith(("http://", "https://")):
            return public
        local = uri_back(self.label, public)
        return local if local != public else f"UNMAPPED {public}"

    def _strip(self, public: Any, prefix: str) -> Any:
        if not isinstance(public, str):
            return public
        return public.removeprefix(prefix) if public.startswith(prefix) else f"UNMAPPED {public}"


def field(holder: Any, key: str, change: Change) -> Any:
    """`holder` with one value changed, if it is an object that has it."""
    return {**holder, key: change(holder[key])} if isinstance(holder, dict) and key in holder else holder


def each(change: Change) -> Change:
    """The change of every item of a list; anything else stays."""
    return lambda items: [change(item) for item in items] if isinstance(items, list) else items


def related(holder: Any, change: Change) -> Any:
    """The task that `_meta` ties a message to (matrix C.2)."""
    return field(holder, "_meta", lambda meta: field(meta, RELATED, lambda task: field(task, "taskId", change)))
