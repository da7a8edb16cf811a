"""One upstream asked twice, directly and through wf-mcp, and every answer compared (design D15): `wf-mcp verify`.

Everything that is asked is repeatable, but for the calls that a person names. Where two direct answers differ among
themselves, the difference is the upstream's own.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from wf_mcp.core.compare import Difference, back, differences, keyed, list_differences, parted
from wf_mcp.core.envelope import without_server_info
from wf_mcp.core.errors import WfMcpError
from wf_mcp.core.kinds import KINDS, PROMPTS, RESOURCES, TOOLS, Kind
from wf_mcp.core.namespace import Namespace
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime.ports import Link, Sending

PAGES = 1000
"""Pages of one list that are followed; a cursor that leads in a circle must not do so for ever."""

Ask = Callable[[], Awaitable[JsonObject]]
Find = Callable[[JsonObject, JsonObject], list[Difference]]


@dataclass(slots=True)
class Verdict:
    """What came out: requests `compared`, what was `lost` or changed, and what the upstream itself says differently
    each time.
    """

    compared: int = 0
    lost: list[Difference] = field(default_factory=list)
    unsteady: list[Difference] = field(default_factory=list)


class Verifier:
    """Compares over two links: `direct` to the upstream, `proxied` to a front that has nothing else mounted."""

    def __init__(self, direct: Link, proxied: Link, namespace: Namespace, timeout: float) -> None:
        self._direct = direct
        self._proxied = proxied
        self._namespace = namespace
        self._timeout = timeout
        self.verdict = Verdict()

    async def run(self, calls: Sequence[tuple[str, JsonObject]]) -> Verdict:
        """Compare the lists, a read of each listed resource, a get of each prompt that needs no arguments, and
        `calls`, by the upstream's own names.
        """
        lists = {kind.name: await self._list(kind) for kind in KINDS}
        for resource in lists[RESOURCES.name]:
            if isinstance(uri := resource.get("uri"), str):
                await self._read(uri)
        for prompt in lists[PROMPTS.name]:
            if isinstance(name := prompt.get("name"), str) and not _needs_arguments(prompt):
                await self._named("prompts/get", name, {}, repeatable=True)
        for name, arguments in calls:
            await self._named("tools/call", name, {"arguments": arguments}, repeatable=False)
        return self.verdict

    async def _list(self, kind: Kind) -> list[JsonObject]:
        """Compare one list; returns the items of the direct one."""
        seen: list[JsonObject] = []

        async def direct() -> JsonObject:
            seen[:], fault = await self._items(self._direct, kind)
            return keyed(seen, kind.field) | fault

        async def proxied() -> JsonObject:
            items, fault = await self._items(self._proxied, kind)
            return keyed([self._item_back(kind, item) for item in items], kind.field) | fault

        await self._compare(direct, proxied, lambda mine, theirs: list_differences(kind.method, mine, theirs))
        return [item for item in seen if isinstance(item, dict)]

    def _item_back(self, kind: Kind, item: JsonObject) -> JsonObject:
        item = back(item, self._namespace.local_uri)
        label = self._namespace.label
        name = item.get("name")
        if kind in (TOOLS, PROMPTS) and label and isinstance(name, str):
            return {**item, "name": name.removeprefix(f"{label}.")}
        return item

    async def _items(self, link: Link, kind: Kind) -> tuple[list[JsonObject], JsonObject]:
        """All pages of a list, none of a kind that the upstream does not have; and the error that ended it, if any."""
        if kind.capability not in (self._direct.initialized.get("capabilities") or {}):
            return [], {}
        items: list[JsonObject] = []
        cursors: list[object] = []
        while len(cursors) < PAGES:
            params = {"cursor": cursors[-1]} if cursors else {}
            page = await self._outcome(link, kind.method, params)
            if "error" in page:
                return items, {"(error)": page["error"]}
            items += page["result"].get(kind.key) or []
            following = page["result"].get("nextCursor")
            if following is None or following in cursors:
                break
            cursors.append(following)
        return items, {}

    async def _read(self, uri: str) -> None:
        public = self._namespace.public_uri(uri)
        await self._request("resources/read", uri, {"uri": uri}, {"uri": public}, repeatable=True)

    async def _named(self, method: str, name: str, params: JsonObject, *, repeatable: bool) -> None:
        public = self._namespace.public_name(name)
        await self._request(method, name, {**params, "name": name}, {**params, "name": public}, repeatable=repeatable)

    async def _request(self, method: str, item: str, mine: JsonObject, theirs: JsonObject, *, repeatable: bool) -> None:
        async def direct() -> JsonObject:
            return await self._outcome(self._direct, method, mine)

        async def proxied() -> JsonObject:
            answer: JsonObject = back(await self._outcome(self._proxied, method, theirs), self._namespace.local_uri)
            return answer

        def find(one: JsonObject, other: JsonObject) -> list[Difference]:
            return differences(method, item, one, other)

        await self._compare(direct, proxied, find, repeatable=repeatable)

    async def _outcome(self, link: Link, method: str, params: JsonObject) -> JsonObject:
        """An answer as one value, whether it is a result or an error."""
        try:
            result = await link.request(method, params, Sending(timeout=self._timeout))
            return {"result": without_server_info(result)}
        except WfMcpError as error:
            said = {"code": error.code, "message": error.message}
            return {"error": said if error.data is None else {**said, "data": error.data}}

    async def _compare(self, direct: Ask, proxied: Ask, find: Find, *, repeatable: bool = True) -> None:
        mine = await direct()
        found = find(mine, await proxied())
        self.verdict.compared += 1
        again = find(mine, await direct()) if found and repeatable else []
        lost, unsteady = parted(found, again)
        self.verdict.lost += lost
        self.verdict.unsteady += unsteady


def _needs_arguments(prompt: JsonObject) -> bool:
    arguments = prompt.get("arguments")
    return isinstance(arguments, list) and any(isinstance(each, dict) and each.get("required") for each in arguments)
