"""Hearing of changes as each era has it: a subscription and the standing connection, or a listen stream."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from tests.inbox import JsonObject
from tests.matrix.person import Person
from tests.rawclient import META

ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
LISTS = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}


@asynccontextmanager
async def hearing(person: Person, *uris: str, **more: object) -> AsyncIterator[JsonObject]:
    """For the time of the block, hear list changes and what becomes of `uris`; gives what is acknowledged."""
    before = len(person.client.notes.items)
    if person.modern:
        async with anyio.create_task_group() as tasks:
            wanted = {"notifications": {**LISTS, "resourceSubscriptions": list(uris), **more}}
            tasks.start_soon(person.client.request, "subscriptions/listen", wanted)
            acknowledged = await person.client.notes.wait_for(
                lambda note: note["method"] == ACKNOWLEDGED and note not in person.client.notes.items[:before]
            )
            yield acknowledged["params"]["notifications"]
            await person.client.cancel(acknowledged["params"]["_meta"][f"{META}/subscriptionId"], "heard enough")
            tasks.cancel_scope.cancel()
    else:
        for uri in uris:
            await person.client.request("resources/subscribe", {"uri": uri})
        yield {**LISTS, "resourceSubscriptions": list(uris)}
        for uri in uris:
            await person.client.request("resources/unsubscribe", {"uri": uri})


async def heard(person: Person, method: str, uri: str | None = None) -> JsonObject:
    """The notification of `method` (about `uri`), which on a listen stream names its subscription."""

    def wanted(note: JsonObject) -> bool:
        return note["method"] == method and (uri is None or note["params"]["uri"] == uri)

    note = await person.client.notes.wait_for(wanted)
    named = f"{META}/subscriptionId" in note.get("params", {}).get("_meta", {})
    assert named == person.modern, note
    return note
