"""The skills extension: every upstream's skills in one list, and each read where it is (ext-skills; matrix B.1).

Skills are asked for each time, at those upstreams that declare the extension; their files are resources like others.
"""

import logging
from typing import Final

from wf_mcp.core.envelope import bare_result, extensions
from wf_mcp.core.errors import InvalidParams, NotServed, UnknownResource, WfMcpError
from wf_mcp.core.hints import Hints, hints_of, merged_hints
from wf_mcp.core.merge import merged_meta
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


class Skills:
    """Relays `skills/list`, `skills/get` and `resources/directory/read`."""

    METHODS: Final = (LIST, "skills/get", "resources/directory/read")

    def __init__(self, mounts: Mounts, resolver: Resolver) -> None:
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
            raise InvalidParams(f"{method}: {error.message}", error.data) from error
        if not _has(route.session):
            raise NotServed(f"{method}: upstream {route.mount.id!r} has no skills")
        result = await send(caller, route, method, uri, {**params, "uri": route.local})
        public = route.mount.namespace.public_uri
        return map_skills(result, lambda found: uri if found == route.local else public(found))

    async def _all(self, caller: Caller, params: JsonObject) -> JsonObject:
        """Every skill in config order, in one page: no cursor is ever given."""
        if "cursor" in params:
            raise InvalidParams("Invalid cursor: skills/list answers in one page; ask without a cursor")
        able = await self._able(caller)
        if not able:
            raise NotServed(f"{LIST}: no upstream has skills")
        skills: list[object] = []
        hints: list[Hints | None] = []
        meta: JsonObject | None = None
        failures: list[WfMcpError] = []
        for mount, session in able:
            try:
                for page in await self._pages(caller, Route(mount, session, ""), params):
                    skills += page.get("skills") or []
                    hints.append(hints_of(page))
                    meta = merged_meta(meta, bare_result(page).get("_meta"))
            except WfMcpError as error:  # one upstream's failure costs the others nothing
                logger.warning("upstream %s did not list its skills: %s", mount.id, error)
                failures.append(error)
                hints.append(None)
        if len(failures) == len(able):
            raise failures[0]
        result: JsonObject = {"skills": skills, **merged_hints(hints).as_fields()}
        return result if meta is None else {**result, "_meta": meta}

    async def _able(self, caller: Caller) -> list[tuple[Mount, UpstreamSession]]:
        """The upstreams that have skills, as far as they answer in time."""
        found = []
        for mount, session in self._mounts.attend(caller):
            if session is not None and await session.settled() and _has(session):
                found.append((mount, session))
        return found

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


def _has(session: UpstreamSession) -> bool:
    """Whether an upstream declared the extension."""
    return SKILLS in extensions((session.initialized or {}).get("capabilities") or {})
