"""The scripts: all message kinds on the upstream that can do everything, and what server-everything can show."""

import base64
import re
from contextlib import suppress

import anyio
from tests.differential.script import Run, Step, calling, completing, everything_listed, together
from tests.differential.stage import Scenario
from tests.differential.tap import START
from tests.inbox import JsonObject

CHANGED = tuple(f"notifications/{kind}/list_changed" for kind in ("tools", "prompts", "resources"))
UPDATED, COMPLETE = "notifications/resources/updated", "notifications/elicitation/complete"
STATUS = "notifications/tasks/status"
LINK = "demo://item/1?q=ä b#f"
REF_PROMPT: JsonObject = {"type": "ref/prompt", "name": "brief", "vendor": 1}
TRACE: JsonObject = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "vendor/k": [None]}
ERRORS: tuple[JsonObject, ...] = (
    {"code": 12345, "message": "ü", "data": {"uri": "demo://item/9", "name": "contents", "x": [None]}},
    {"code": -1, "message": "", "data": None},
    {"code": -32002, "message": "see demo://stays", "data": {"uri": "urn:isbn:2"}},
    {"code": -32603, "message": "text", "data": "text"},
    {"code": -32000, "message": "no data"},
)
VALUES: tuple[object, ...] = (None, True, 0, 1.0, 2**53 + 1, "", [], [{"uri": "demo://stays"}], {"a": {"uri": "x:y"}})


async def failing(run: Run) -> None:
    for error in ERRORS:
        await run.call("fail", {"error": error})
    # Names that no list has are not asked for: they are resolved by table and never reach an upstream (design D6).
    await run.read("demo://missing")


async def structured(run: Run) -> None:
    for value in VALUES:
        await run.call("structured", {"value": value})


async def reading(run: Run) -> None:
    for uri in (LINK, "demo://item/2", "urn:isbn:1", "file:///a/b", "ui://app/view", "https://example.org/page"):
        await run.read(uri)
    for unlisted in ("demo://item/%7Ex?q=1", "file:///x/../y", "note:ü", "demo://in"):
        await run.read(unlisted, _meta=TRACE)


async def prompting(run: Run) -> None:
    await run.prompt("brief", {"uri": "demo://stays", "x": ""})
    await run.prompt("brief")
    await run.prompt("odd name/with.dots")


async def arguments(run: Run) -> None:
    await run.call("seen", {"uri": "demo://stays", "n": 2**53 + 1, "f": 1.0, "deep": [None, {}]}, meta=TRACE)
    await run.call("seen", {})
    await run.call("seen", None, token=True, vendor={"k": None})


async def levels(run: Run) -> None:
    await run.request("logging/setLevel", {"level": "error"})
    await run.call("logs")
    await run.request("logging/setLevel", {"level": "debug", "_meta": {"k": 1}})
    await run.call("logs")


async def subscribing(run: Run) -> None:
    for uri in (LINK, "urn:isbn:1"):
        await run.request("resources/subscribe", {"uri": run.uri(uri), "_meta": {"k": 1}})
    await run.call("touch", {"uri": LINK})
    await run.call("touch", {"uri": LINK, "as": "demo://item/1/child"})
    await run.call("touch", {"uri": "urn:isbn:1"})
    await run.call("touch", {"uri": "demo://item/2"})
    await run.heard(*[UPDATED] * 3)


async def unsubscribing(run: Run) -> None:
    await run.request("resources/unsubscribe", {"uri": run.uri("urn:isbn:1")})
    await run.call("touch", {"uri": "urn:isbn:1"})
    await run.call("touch", {"uri": LINK})
    await run.heard(UPDATED)


async def cancelling(run: Run) -> None:
    tap = run.client.tap
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run.call, "slow", {"tag": "ü"})
        await run.heard("notifications/message")
        ids = [e.message["id"] for e in tap.now() if e.message.get("method") == "tools/call"]
        told: JsonObject = {"requestId": ids[0], "reason": "changed my mind ü", "_meta": {"k": 1}}
        await run.client.notify("notifications/cancelled", told)
        await run.arrived("notifications/cancelled")
        # Whatever would be answered to it, would be answered by the time that another call has been.
        await run.call("seen", {"after": "cancel"})
        tasks.cancel_scope.cancel()


async def rooting(run: Run) -> None:
    await run.client.notify("notifications/roots/list_changed", {"_meta": {"k": 1}})
    await run.heard("roots/list", "notifications/message")
    await run.call("roots")


async def tasks(run: Run) -> None:
    created = await run.call("research", {"q": "ü"}, token=True, task={"ttl": 60000, "vendor": 1})
    task: JsonObject = {"taskId": created.get("task", {}).get("taskId", "none")}
    await run.request("tasks/get", task)
    await run.request("tasks/result", {**task, "_meta": {"k": 1}})
    await run.request("tasks/get", task)
    await run.heard(STATUS, STATUS)


async def other_tasks(run: Run) -> None:
    created = await run.call("research", {}, task={"ttl": None})
    task: JsonObject = {"taskId": created.get("task", {}).get("taskId", "none")}
    await run.pages("tasks/list")
    await run.request("tasks/cancel", task)
    await run.request("tasks/cancel", task)
    await run.request("tasks/result", task)
    await run.request("tasks/get", {"taskId": run.id("task/ü:99")})
    await run.heard(STATUS)
    await run.call("research", {"plain": True})


async def eliciting(run: Run) -> None:
    for message in ("Who? see demo://stays", "decline", "cancel", "fail"):
        await run.call("elicit", {"message": message})


async def withdrawing(run: Run) -> None:
    await run.call("withdraw")
    await run.call("seen", {"after": "withdraw"})


async def completing_all(run: Run) -> None:
    await completing(REF_PROMPT, "uri", "ü", context={"arguments": {"x": "demo://stays"}}, _meta=TRACE)(run)
    await completing({"type": "ref/resource", "uri": LINK}, "q", "")(run)
    await completing({"type": "ref/resource", "uri": "demo://item/{id}{?q*}"}, "id", "1")(run)
    await completing({"type": "ref/resource", "uri": "file:///{+path}"}, "path", "/")(run)
    await completing({"type": "ref/resource", "uri": "note:{id}"}, "id", "")(run)


async def pinging(run: Run) -> None:
    await run.request("ping", {"_meta": {"k": 1}})
    await run.call("pings")


async def contents(run: Run) -> None:
    for name in ("contents", "is_error", "empty", "only_link", "not_even_content"):
        await run.call(name, {"a": None})


async def several_at_once(run: Run) -> None:
    calls = [calling("progress", {"n": n}, token=True) for n in range(6)]
    await together(*calls, *(calling("structured", {"value": n}) for n in range(4)))(run)


CALL_PROGRESS = calling("progress", {}, token=True)
FULL_STEPS: dict[str, Step] = {
    "first call": calling("empty"),
    "lists": everything_listed,
    "contents": contents,
    "arguments": arguments,
    "structured content": structured,
    "errors": failing,
    "reads": reading,
    "prompts": prompting,
    "completions": completing_all,
    "progress": CALL_PROGRESS,
    "progress unasked": calling("progress"),
    "logs": calling("logs"),
    "levels": levels,
    "sampling": calling("sample", {}, token=True),
    "sampling plainly": calling("sample_plainly"),
    "sampling refused": calling("sample_plainly", {"say": "refuse"}),
    "elicitation": eliciting,
    "elicitation by url": calling("elicit_url", {}, COMPLETE),
    "urls needed": calling("needs_url"),
    "urls finished": calling("finish_url", {}, COMPLETE, COMPLETE),
    "roots": rooting,
    "unknown question": calling("unknown_question"),
    "question withdrawn": withdrawing,
    "task of the client": calling("delegate"),
    "cancel": cancelling,
    "ping": pinging,
    "subscriptions": subscribing,
    "changes": calling("change", {"kinds": ["tools", "prompts", "resources"]}, *CHANGED),
    "lists after changes": everything_listed,
    "burst": calling(
        "burst",
        {"kinds": ["tools"], "name": "burst", "uri": LINK},
        CHANGED[0],
        UPDATED,
        "notifications/vendor/odd",
        token=True,
    ),
    "unsubscribed": unsubscribing,
    "updated unasked": calling("touch", {"uri": "urn:isbn:1", "anyway": True}, UPDATED),
    "tasks": tasks,
    "more tasks": other_tasks,
    "at once": several_at_once,
}
FULL = Scenario("full", FULL_STEPS, str)


# -- server-everything -------------------------------------------------------------------------------

CLOCK = re.compile(r"\d{1,2}:\d\d:\d\d.[AP]M|\d{4}-\d\d-\d\dT[0-9:.]+Z")
RANDOM = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{32}\b")
CITY = {"city": "Köln", "state": ""}


def scrub(text: str) -> str:
    """server-everything without the time of day, which also stands in its blobs, and its random ids."""
    with suppress(ValueError):
        inside = base64.b64decode(text, validate=True).decode()
        text = inside if CLOCK.search(inside) else text
    return RANDOM.sub("RANDOM", CLOCK.sub("TIME", text))


async def opened(run: Run) -> None:
    """A first call, and what server-everything does when a client has come: it asks for roots, and says so."""
    await run.call("echo", {"message": "first"})
    await run.heard("roots/list", "notifications/message")


async def plain_calls(run: Run) -> None:
    calls: tuple[tuple[str, JsonObject], ...] = (
        ("echo", {"message": "ü\u2028🚀"}),
        ("echo", {}),
        ("get-sum", {"a": 1, "b": 2.5}),
        ("get-sum", {"a": "one"}),
        ("get-tiny-image", {}),
        ("get-annotated-message", {"messageType": "error", "includeImage": True}),
        ("get-structured-content", {"location": "Chicago"}),
        ("get-resource-links", {"count": 4}),
        ("get-resource-reference", {"resourceType": "Blob", "resourceId": 2}),
        ("get-resource-reference", {"resourceType": "Text", "resourceId": -1}),
        ("get-roots-list", {}),
    )
    for name, arguments in calls:
        await run.call(name, arguments)


async def zipped(run: Run) -> None:
    """A resource that lives in the session, told by list_changed, and read in it."""
    await run.call(
        "gzip-file-as-resource", {"name": "x.gz", "data": "data:text/plain,hi", "outputType": "resourceLink"}
    )
    await run.heard("notifications/resources/list_changed")
    await run.listed("resources")
    await run.read("demo://resource/session/x.gz")


async def documents(run: Run) -> None:
    for uri in ("static/document/features.md", "dynamic/text/3", "dynamic/blob/3", "dynamic/text/x", "none"):
        await run.read(f"demo://resource/{uri}")


async def its_prompts(run: Run) -> None:
    await run.prompt("simple-prompt")
    await run.prompt("args-prompt", CITY)
    await run.prompt("args-prompt", {})
    await run.prompt("completable-prompt", {"department": "Sales", "name": "Eve"})
    await run.prompt("resource-prompt", {"resourceType": "Blob", "resourceId": "1"})


async def its_completions(run: Run) -> None:
    ref = {"type": "ref/prompt", "name": "completable-prompt"}
    await completing(ref, "department", "")(run)
    await completing(ref, "name", "", context={"arguments": {"department": "Sales"}})(run)
    await completing({"type": "ref/resource", "uri": "demo://resource/dynamic/text/{resourceId}"}, "resourceId", "1")(
        run
    )


async def asked(run: Run) -> None:
    await run.call("trigger-sampling-request", {"prompt": "hi", "maxTokens": 7})
    await run.call("trigger-elicitation-request", {})
    url = {"url": "https://example.org/sign", "message": "Open", "elicitationId": "el 1"}
    await run.call("trigger-url-elicitation", url)
    await run.call("trigger-url-elicitation", {**url, "errorPath": True})


async def subscribed(run: Run) -> None:
    uri = run.uri("demo://resource/dynamic/text/1")
    await run.request("resources/subscribe", {"uri": uri})
    await run.call("toggle-subscriber-updates", {})
    await run.heard(UPDATED)
    await run.call("toggle-subscriber-updates", {})
    await run.request("resources/unsubscribe", {"uri": uri})
    await run.heard(*["notifications/message"] * 2)


async def researched(run: Run) -> None:
    created = await run.call("simulate-research-query", {"topic": "ü", "ambiguous": True}, task={"ttl": 60000})
    task: JsonObject = {"taskId": created.get("task", {}).get("taskId", "none")}
    await run.request("tasks/result", task)
    await run.request("tasks/get", task)
    await run.pages("tasks/list")
    await run.request("tasks/cancel", task)


EVERYTHING_STEPS: dict[str, Step] = {
    START: opened,
    "lists": everything_listed,
    "calls": plain_calls,
    "reads": documents,
    "prompts": its_prompts,
    "completions": its_completions,
    "asked": asked,
    "long operation": calling("trigger-long-running-operation", {"duration": 0.4, "steps": 4}, token=True),
    "session resource": zipped,
    "subscriptions": subscribed,
    "research": researched,
}
# It acknowledges subscriptions by messages that it does not tie to the request.
EVERYTHING = Scenario("everything", EVERYTHING_STEPS, scrub, unordered=("subscriptions",))
