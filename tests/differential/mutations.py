"""What a lossy proxy would do, one fault at a time: the test of the comparison.

`passed_on` makes, from a recording of a direct run, what a perfect proxy would have been recorded as. A `Mutation` then
drops, doubles, delays or changes one message in it. The comparison must find nothing before, and something after.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from tests.differential.compare import Wire
from tests.differential.story import OF_CONNECTION, key_of, other
from tests.differential.tap import START, Entry, Recording, Side, Tape
from tests.differential.translate import Back, public_id, public_name, public_uri
from tests.inbox import JsonObject

What = Literal["request", "result", "error", "note"]
Path = tuple[str | int, ...]
Change = Callable[[JsonObject], list[JsonObject]]
RELATED = "io.modelcontextprotocol/related-task"


class Forth(Back):
    """The way from the upstream's terms to the public ones, at the very same positions."""

    def name(self, public: Any) -> Any:
        return public_name(self.label, public) if isinstance(public, str) else public

    def id(self, public: Any) -> Any:
        return public_id(self.label, public) if isinstance(public, str) else public

    def uri(self, public: Any) -> Any:
        return public_uri(self.label, public) if isinstance(public, str) else public


def passed_on(direct: Recording, label: str, forth: Back | None = None) -> Recording:
    """A recording as through a proxy that only maps names, URIs and ids, as `forth` says."""
    forth = forth or Forth(label)
    entries: list[Entry] = []
    for entry, (what, method) in zip(direct.client.entries, told(direct.client), strict=True):
        message, of_client = dict(entry.message), entry.toward == "server"
        if what in ("request", "note") and "params" in message:
            mapping = forth.request if what == "request" else forth.note
            message["params"] = mapping(method, message["params"], of_client=of_client)
        elif what == "result":
            message["result"] = forth.result(method, message["result"], of_client=of_client)
        elif what == "error":
            message["error"] = forth.error(message["error"], of_client=of_client)
        entries.append(replace(entry, message=message))
    return Recording(Tape(entries), direct.upstream, label)


def told(tape: Tape) -> list[tuple[What, str]]:
    """What each message is, and of which method; an answer has its request's."""
    found: list[tuple[What, str]] = []
    methods: dict[Any, str] = {}
    for entry in tape.entries:
        message = entry.message
        if "method" not in message:
            key = key_of(other(entry.toward), message.get("id"))
            found.append(("result" if "result" in message else "error", methods.get(key, "")))
        else:
            if "id" in message:
                methods[key_of(entry.toward, message["id"])] = message["method"]
            found.append(("request" if "id" in message else "note", message["method"]))
    return found


@dataclass(frozen=True)
class Mutation:
    """One fault: done to the first message of a step that is this, on this wire, in this direction."""

    wire: Wire
    step: str
    toward: Side
    what: What
    method: str
    fault: str
    change: Change
    delayed: bool = False
    """Put after the next answer instead of where it was."""

    def __str__(self) -> str:
        return f"{self.wire}, {self.step}: {self.fault} ({self.what} of {self.method})"

    def _place(self, tape: Tape) -> int | None:
        wanted = (self.step, self.toward, self.what, self.method)
        for at, (entry, (what, method)) in enumerate(zip(tape.entries, told(tape), strict=True)):
            step = START if method in OF_CONNECTION else entry.step
            if (step, entry.toward, what, method) == wanted:
                return at
        return None

    def of(self, recording: Recording) -> Recording:
        """The recording with the fault; raises LookupError if there is nothing to do it to."""
        tape = recording.client if self.wire == "client" else recording.upstream
        entries = list(tape.entries)
        at = self._place(tape)
        if at is None:
            raise LookupError(f"{self}: there is no such message")
        entry = entries.pop(at)
        to = at
        if self.delayed:
            to = next(n for n in range(at, len(entries)) if "method" not in entries[n].message) + 1
        entries[to:to] = [replace(entry, message=message) for message in self.change(copy.deepcopy(entry.message))]
        changed = Tape(entries, tape.problems)
        return replace(recording, client=changed) if self.wire == "client" else replace(recording, upstream=changed)


def dropped(message: JsonObject) -> list[JsonObject]:
    """It never arrives."""
    return []


def doubled(message: JsonObject) -> list[JsonObject]:
    """It arrives twice."""
    return [message, message]


def kept(message: JsonObject) -> list[JsonObject]:
    """It arrives as it was."""
    return [message]


def put(*path: str | int, to: Any) -> Change:
    """One value becomes another."""

    def change(message: JsonObject) -> list[JsonObject]:
        holder: Any = message
        for key in path[:-1]:
            holder = holder[key]
        assert holder[path[-1]] != to or type(holder[path[-1]]) is not type(to), f"{path} is {to!r} already"
        holder[path[-1]] = to
        return [message]

    return change


def lost(*path: str | int) -> Change:
    """One value is not there any more."""

    def change(message: JsonObject) -> list[JsonObject]:
        holder: Any = message
        for key in path[:-1]:
            holder = holder[key]
        del holder[path[-1]]
        return [message]

    return change


def down(step: str, what: What, method: str, fault: str, change: Change, **more: Any) -> Mutation:
    """A fault of what the client gets."""
    return Mutation("client", step, "client", what, method, fault, change, **more)


def up(step: str, what: What, method: str, fault: str, change: Change, **more: Any) -> Mutation:
    """A fault of what the upstream gets."""
    return Mutation("upstream", step, "server", what, method, fault, change, **more)


CALL, SAMPLE, ELICIT = "tools/call", "sampling/createMessage", "elicitation/create"
PROGRESS, LOG, CANCELLED = "notifications/progress", "notifications/message", "notifications/cancelled"
UPDATED, COMPLETE = "notifications/resources/updated", "notifications/elicitation/complete"
STATUS, TOOLS = "notifications/tasks/status", "notifications/tools/list_changed"

NESTED = ("params", "messages", 2, "content", 0, "content", 0, "uri")

MUTATIONS: tuple[Mutation, ...] = (
    # opening
    down(START, "result", "initialize", "another version", put("result", "protocolVersion", to="2025-06-18")),
    down(START, "result", "initialize", "no tasks", lost("result", "capabilities", "tasks")),
    down(START, "result", "initialize", "no subscribe", lost("result", "capabilities", "resources", "subscribe")),
    up(START, "request", "initialize", "another client", put("params", "clientInfo", "name", to="proxy")),
    up(START, "request", "initialize", "no url elicitation", lost("params", "capabilities", "elicitation", "url")),
    up(START, "note", "notifications/initialized", "not said", dropped),
    # lists
    down("lists", "result", "tools/list", "an entry lost", lost("result", "tools", 0)),
    down("lists", "result", "tools/list", "no icons", lost("result", "tools", 0, "icons")),
    down(
        "lists",
        "result",
        "tools/list",
        "a number rounded",
        put("result", "tools", 0, "inputSchema", "x-vendor", to=2**53),
    ),
    down("lists", "result", "tools/list", "an unknown field lost", lost("result", "tools", 0, "vendor")),
    down("lists", "result", "tools/list", "no task support", lost("result", "tools", 0, "execution", "taskSupport")),
    down("lists", "result", "resources/list", "size 0 lost", lost("result", "resources", 0, "size")),
    down("lists", "result", "resources/list", "a local URI", put("result", "resources", 1, "uri", to="demo://item/2")),
    down("lists", "result", "prompts/list", "a local name", put("result", "prompts", 0, "name", to="brief")),
    down(
        "lists",
        "result",
        "resources/templates/list",
        "empty text lost",
        lost("result", "resourceTemplates", 0, "mimeType"),
    ),
    down("lists", "result", "prompts/list", "not answered", dropped),
    # calls
    down("contents", "result", CALL, "a block lost", lost("result", "content", 13)),
    down("contents", "result", CALL, "an annotation lost", lost("result", "content", 1, "annotations", "x")),
    down("contents", "result", CALL, "null lost", lost("result", "content", 3, "vendor")),
    down("contents", "result", CALL, "a link not mapped", put("result", "content", 5, "uri", to="urn:isbn:1")),
    down(
        "contents",
        "result",
        CALL,
        "an app link not mapped",
        put("result", "_meta", "ui/resourceUri", to="ui://app/view"),
    ),
    down("contents", "result", CALL, "text rewritten", put("result", "content", 0, "text", to="plain")),
    down("contents", "result", CALL, "too much mapped", put("result", "content", 13, "uri", to="demo://lab/one/stays")),
    down("contents", "result", CALL, "isError false lost", lost("result", "isError")),
    down(
        "contents",
        "result",
        CALL,
        "structured content as a double",
        put("result", "structuredContent", "n", to=2.0**53),
    ),
    down("contents", "result", CALL, "answered twice", doubled),
    down("contents", "result", CALL, "answered to another", put("id", to="never asked")),
    down("structured content", "result", CALL, "null became absent", lost("result", "structuredContent")),
    down("errors", "error", CALL, "another code", put("error", "code", to=-32603)),
    down("errors", "error", CALL, "another message", put("error", "message", to="failed")),
    down("errors", "error", CALL, "data lost", lost("error", "data")),
    up("arguments", "request", CALL, "an argument lost", lost("params", "arguments", "n")),
    up("arguments", "request", CALL, "1.0 became 1", put("params", "arguments", "f", to=1)),
    up("arguments", "request", CALL, "trace context lost", lost("params", "_meta", "traceparent")),
    up("arguments", "request", CALL, "called twice", doubled),
    up("arguments", "request", CALL, "a public name", put("params", "name", to="lab.one.seen")),
    up("arguments", "request", CALL, "another method", put("method", to="tools/calls")),
    up("at once", "request", CALL, "one of several lost", dropped),
    # reads, prompts, completions
    down("reads", "result", "resources/read", "a second content lost", lost("result", "contents", 1)),
    down("errors", "error", "resources/read", "a local URI in data", put("error", "data", "uri", to="demo://missing")),
    up(
        "reads",
        "request",
        "resources/read",
        "a URI normalised",
        put("params", "uri", to="demo://item/1?q=%C3%A4%20b#f"),
    ),
    down("prompts", "result", "prompts/get", "a role changed", put("result", "messages", 0, "role", to="assistant")),
    down("prompts", "result", "prompts/get", "a message lost", lost("result", "messages", 9)),
    up("prompts", "request", "prompts/get", "an empty argument lost", lost("params", "arguments", "x")),
    down("completions", "result", "completion/complete", "total lost", lost("result", "completion", "total")),
    up("completions", "request", "completion/complete", "context lost", lost("params", "context")),
    # what is told in a call
    down("progress", "note", PROGRESS, "a step lost", dropped),
    down("progress", "note", PROGRESS, "a step twice", doubled),
    down("progress", "note", PROGRESS, "out of order", kept, delayed=True),
    down("progress", "note", PROGRESS, "another token", put("params", "progressToken", to="other")),
    down("progress", "note", PROGRESS, "another value", put("params", "progress", to=0.0)),
    down("logs", "note", LOG, "a message lost", dropped),
    down("logs", "note", LOG, "after the answer", kept, delayed=True),
    down("logs", "note", LOG, "a label on the logger", put("params", "logger", to="lab.one.full.debug")),
    down("logs", "note", LOG, "another level", put("params", "level", to="info")),
    up("levels", "request", "logging/setLevel", "another level", put("params", "level", to="info")),
    up("levels", "request", "logging/setLevel", "not set", dropped),
    # questions and their answers
    down("sampling", "request", SAMPLE, "tools lost", lost("params", "tools")),
    down("sampling", "request", SAMPLE, "temperature 0 lost", lost("params", "temperature")),
    down("sampling", "request", SAMPLE, "a nested link not mapped", put(*NESTED, to="demo://item/1?q=ä b#f")),
    down("sampling", "request", SAMPLE, "asked twice", doubled),
    up("sampling", "result", SAMPLE, "an answer's field lost", lost("result", "stopReason")),
    up(
        "sampling",
        "result",
        SAMPLE,
        "an answer's link public",
        put("result", "content", 2, "content", 0, "uri", to="demo://lab/one/item/1"),
    ),
    up("sampling", "result", SAMPLE, "not answered", dropped),
    up("sampling", "note", PROGRESS, "the client's progress lost", dropped),
    up("sampling refused", "error", SAMPLE, "another refusal", put("error", "code", to=-32603)),
    down(
        "elicitation", "request", ELICIT, "a schema simplified", lost("params", "requestedSchema", "properties", "kind")
    ),
    up("elicitation", "result", ELICIT, "declined instead", put("result", "action", to="decline")),
    up("elicitation", "result", ELICIT, "content lost", lost("result", "content")),
    down("elicitation by url", "request", ELICIT, "another url", put("params", "url", to="https://example.org/")),
    down("elicitation by url", "request", ELICIT, "an id not mapped", put("params", "elicitationId", to="el/ü 0")),
    down("elicitation by url", "note", COMPLETE, "not told", dropped),
    down(
        "urls needed",
        "error",
        CALL,
        "an id not mapped",
        put("error", "data", "elicitations", 1, "elicitationId", to="el/ü 2"),
    ),
    up("roots", "result", "roots/list", "a root's name lost", lost("result", "roots", 0, "name")),
    up("roots", "note", "notifications/roots/list_changed", "not told", dropped),
    down("question withdrawn", "note", CANCELLED, "not told", dropped),
    down("question withdrawn", "note", CANCELLED, "of another question", put("params", "requestId", to=0)),
    up("task of the client", "note", STATUS, "not told", dropped),
    down("task of the client", "request", "tasks/result", "never asked", dropped),
    # client to upstream, and outside of calls
    up("cancel", "note", CANCELLED, "not told", dropped),
    up("cancel", "note", CANCELLED, "another reason", put("params", "reason", to="caller cancelled")),
    up("cancel", "note", CANCELLED, "of another call", put("params", "requestId", to="none")),
    up("subscriptions", "request", "resources/subscribe", "not subscribed", dropped),
    down("subscriptions", "note", UPDATED, "not told", dropped),
    down("subscriptions", "note", UPDATED, "told twice", doubled),
    down("subscriptions", "note", UPDATED, "a local URI", put("params", "uri", to="demo://item/1?q=ä b#f")),
    up("unsubscribed", "request", "resources/unsubscribe", "still subscribed", dropped),
    down("changes", "note", TOOLS, "not told", dropped),
    down("changes", "note", TOOLS, "told twice", doubled),
    down("burst", "note", "notifications/vendor/odd", "an unknown notice lost", dropped),
    # tasks
    down("tasks", "result", CALL, "no task", lost("result", "task")),
    down("tasks", "result", CALL, "an id not mapped", put("result", "task", "taskId", to="task/ü:0")),
    down("tasks", "result", "tasks/result", "related task lost", lost("result", "_meta", RELATED)),
    down(
        "tasks", "request", ELICIT, "related task not mapped", put("params", "_meta", RELATED, "taskId", to="task/ü:0")
    ),
    down("tasks", "note", STATUS, "another status", put("params", "status", to="working")),
    down("tasks", "note", STATUS, "not told", dropped),
    down("more tasks", "result", "tasks/list", "a task lost", lost("result", "tasks", 0)),
    up("more tasks", "request", "tasks/cancel", "not cancelled", dropped),
    up("tasks", "request", CALL, "not as a task", lost("params", "task")),
)
