"""Where URIs stand in what the skills extension answers (ext-skills; matrix C.1 rows 10 and 11).

Frontmatter, digests and sizes have to equal the file, so that everything else stays as it is (C.4).
"""

from collections.abc import Callable
from typing import Any, Final

from wf_mcp.core.wire import JsonObject

SKILLS: Final = "io.modelcontextprotocol/skills"
"""The extension."""

LIST: Final = "skills/list"

Uri = Callable[[str], str]


def map_skills(result: JsonObject, uri: Uri) -> JsonObject:
    """A result of `skills/list`, `skills/get` or `resources/directory/read` with its URIs mapped.

    `resources` of a skill may be the word `dynamic`, and stays then.
    """
    if isinstance(result.get("skills"), list):
        result = {**result, "skills": [_skill(each, uri) for each in result["skills"]]}
    if isinstance(result.get("skill"), dict):
        result = {**result, "skill": _skill(result["skill"], uri)}
    return _resources(result, uri)


def _skill(skill: Any, uri: Uri) -> Any:
    return _resources(_named(skill, uri), uri) if isinstance(skill, dict) else skill


def _resources(holder: JsonObject, uri: Uri) -> JsonObject:
    found = holder.get("resources")
    return {**holder, "resources": [_named(each, uri) for each in found]} if isinstance(found, list) else holder


def _named(holder: Any, uri: Uri) -> Any:
    if not isinstance(holder, dict) or not isinstance(holder.get("uri"), str):
        return holder
    return {**holder, "uri": uri(holder["uri"])}
