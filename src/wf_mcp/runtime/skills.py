"""The skills extension: every upstream's skills in one list, and each read where it is (ext-skills; matrix B.1).

Skills are asked for each time, at those upstreams that declare the extension; their files are resources like others.
"""

import logging
from typing import Final

import anyio

from wf_mcp.core.envelope import bare_result, extensions
from wf_mcp.core.errors import InvalidParams, NotServed, UnknownResource, UpstreamTimeout, WfMcpError
from wf_mcp.core.hints import hints_of, merged_hints
from wf_mcp.core.merge import PARTIAL, merged_meta
from wf_mcp.core.skills import LIST, SKILLS, map_skills
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime.catalogue import PAGE_CAP
from wf_mcp.runtime.mount import Mount
from wf_mcp.runtime.mounts import Mounts
from wf_mcp.runtime.onward import send
from wf_mcp.runtime.ports import Caller, asking_for
from wf_mcp.runtime.resolve import Resolver, Route
from wf_mcp.runtime.session import UpstreamSession

logger = logging.getLogger(__name__)

DIRECTORY: Final = "resources/directory/read"

PATIENCE: Final = 5.0
"""Seconds in which an upstream is to list its skills; a list without it says so (design D5)."""


class Skills:
    """Relays `skills/list`, `skills/get` and `resources/directory/read`."""

    METHODS: Final = (LIST, "skills/get", DIRECTORY)

    def __init__(self, mounts: Mounts, resolver: Resolver, *, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._mounts = mounts
        self._resolver = resolver

    async def answer(self, caller: Caller, method: str, params: JsonObject) -> JsonObject:
        """The result of one request; raises `NotServed` (-32601) where no upstream has the extension, `InvalidParams`
        (-32602) for a skill, folder or cursor that there is not.
        """
        if method == LIST:
            return await self._all(caller, params)
        uri = params.get("uri")
        if not isinstance(uri, str):
            raise InvalidParams(f"{method} needs a string 'uri' in its params")
        try:
            route = await self._resolver.uri(caller, uri)
        except UnknownResource as error:
            if not (await self._attended(caller))[0]:
                raise NotServed(f"{method}: no upstream has skills") from error
            raise InvalidParams(f"{method}: {error.message}", error.data) from error
        await route.session.link()
        declared = _declared(route.session)
        if declared is None or (method == DIRECTORY and not declared.get("directoryRead")):
            raise NotServed(f"{method}: upstream {route.mount.id!r} does not offer that")
        result = await send(caller, route, method, uri, {**params, "uri": route.local})
        public = route.mount.namespace.public_uri
        return map_skills(result, lambda found: uri if found == route.local else public(found))

    async def _all(self, caller: Caller, params: JsonObject) -> JsonObject:
        """Every skill in config order, in one page: no cursor is ever given.

        All upstreams are asked at once, and one that fails or is silent costs the others nothing but their caches.
        """
        if "cursor" in params:
            raise InvalidParams("Invalid cursor: skills/list answers in one page; ask without a cursor")
        able, missing = await self._attended(caller)
        if not able:
            raise NotServed(f"{LIST}: no upstream has skills")
        found: dict[str, list[JsonObject] | WfMcpError] = {}

        async def ask(mount: Mount, session: UpstreamSession) -> None:
            found[mount.id] = await self._listed(caller, Route(mount, session, ""), params)

        async with anyio.create_task_group() as tasks:
            for mount, session in able:
                tasks.start_soon(ask, mount, session, name=f"skills of {mount.id}")
        pages: list[JsonObject] = []
        failures: list[WfMcpError] = []
        for mount, _ in able:
            answer = found[mount.id]
            if isinstance(answer, WfMcpError):
                logger.warning("upstream %s did not list its skills: %s", mount.id, answer)
                failures.append(answer)
                missing.append(mount.called)
            else:
                pages += answer
        if len(failures) == len(able):
            raise failures[0]
        return _merged(pages, missing)

    async def _attended(self, caller: Caller) -> tuple[list[tuple[Mount, UpstreamSession]], list[str]]:
        """The upstreams that have skills, and what those are called that did not say in time whether they have."""
        able: list[tuple[Mount, UpstreamSession]] = []
        missing: list[str] = []
        for mount, session in self._mounts.attend(caller):
            if session is None or not await session.settled() or session.initialized is None:
                missing.append(mount.called)
            elif _declared(session) is not None:
                able.append((mount, session))
        return able, missing

    async def _listed(self, caller: Caller, route: Route, params: JsonObject) -> list[JsonObject] | WfMcpError:
        """One upstream's pages in the client's terms, or why there are none."""
        try:
            with anyio.move_on_after(self._patience):
                return await self._pages(caller, route, params)
        except WfMcpError as error:  # its failure is its own
            return error
        return UpstreamTimeout(f"Upstream {route.mount.id!r} did not list its skills within {self._patience:g} s")

    async def _pages(self, caller: Caller, route: Route, params: JsonObject) -> list[JsonObject]:
        pages: list[JsonObject] = []
        asked = params
        for _ in range(PAGE_CAP):
            page = await route.session.request(LIST, asked, asking_for(caller))
            pages.append(map_skills(page, route.mount.namespace.public_uri))
            cursor = page.get("nextCursor")
            if not isinstance(cursor, str) or cursor == asked.get("cursor"):
                break
            asked = {**params, "cursor": cursor}
        return pages


def _merged(pages: list[JsonObject], missing: list[str]) -> JsonObject:
    """One list of these pages; where upstreams are missing in it, it says so and is not to be kept (matrix D.1)."""
    skills = [skill for page in pages for skill in page.get("skills") or []]
    hints = [hints_of(page) for page in pages]
    meta: JsonObject | None = None
    for page in pages:
        meta = merged_meta(meta, bare_result(page).get("_meta"))
    if missing:
        hints.append(None)
        meta = {**(meta or {}), PARTIAL: missing}
    result: JsonObject = {"skills": skills, **merged_hints(hints).as_fields()}
    return result if meta is None else {**result, "_meta": meta}


def _declared(session: UpstreamSession) -> JsonObject | None:
    """What an upstream says of the extension; `None` where it has not declared it."""
    settings = extensions((session.initialized or {}).get("capabilities") or {}).get(SKILLS)
    return settings if isinstance(settings, dict) else None
