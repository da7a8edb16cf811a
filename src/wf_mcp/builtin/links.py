"""The built-in plug-in that turns the URIs in results into public ones (design D7; matrix C.1, C.4).

It runs after all other plug-ins, so that those see the upstream's URIs. `core/rewrite.py` knows where URIs stand.
"""

from collections.abc import Iterable

from wf_mcp.core.rewrite import map_call_result, map_prompt_result, map_read_result
from wf_mcp.plugin import CallInfo, JsonObject, Namespace, Result, ResultTransform, impl


@impl
def wf_result_transforms(mount: Namespace) -> Iterable[ResultTransform]:
    """Offer the rewriting of links for `mount`; a bare mount's URIs are public already."""
    if not mount.label:
        return

    def rewrite(result: Result, info: CallInfo) -> Result:
        mapped = _mapped(mount, result.raw, info)
        return result if mapped is result.raw else Result(mapped)

    yield rewrite


def _mapped(mount: Namespace, raw: JsonObject, info: CallInfo) -> JsonObject:
    match info.method:
        case "tools/call":
            return map_call_result(raw, mount.public_uri)
        case "prompts/get":
            return map_prompt_result(raw, mount.public_uri)
        case "resources/read":
            return map_read_result(raw, mount.public_uri, (info.local_target, info.public_target))
        case _:
            return raw
