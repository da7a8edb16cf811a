"""URIs of skills are mapped where they stand, and nothing else is touched (matrix C.1 rows 10 and 11, C.4)."""

import copy

import pytest

from wf_mcp.core.skills import map_skills
from wf_mcp.core.wire import JsonObject

FILE: JsonObject = {"uri": "skill://a/SKILL.md", "digest": "sha256:00", "size": 3, "vendor": None}
SKILL: JsonObject = {"uri": "skill://a/SKILL.md", "frontmatter": {"name": "a", "uri": "skill://stays"}}


def public(uri: str) -> str:
    return uri.replace("skill://", "skill://up/")


MAPPED_FILE = {**FILE, "uri": "skill://up/a/SKILL.md"}
MAPPED = {**SKILL, "uri": "skill://up/a/SKILL.md"}


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({"skills": [SKILL], "vendor": 1}, {"skills": [MAPPED], "vendor": 1}),
        ({"skills": [{**SKILL, "resources": [FILE]}]}, {"skills": [{**MAPPED, "resources": [MAPPED_FILE]}]}),
        ({"skills": [{**SKILL, "resources": "dynamic"}]}, {"skills": [{**MAPPED, "resources": "dynamic"}]}),
        ({"skill": {**SKILL, "resources": [FILE]}}, {"skill": {**MAPPED, "resources": [MAPPED_FILE]}}),
        ({"resources": [FILE], "nextCursor": "c"}, {"resources": [MAPPED_FILE], "nextCursor": "c"}),
        ({"skills": [None, 7, {"uri": 1}]}, {"skills": [None, 7, {"uri": 1}]}),
        ({"skills": None, "skill": "x", "resources": {}}, {"skills": None, "skill": "x", "resources": {}}),
    ],
    ids=["listed", "with files", "dynamic", "one", "a folder", "malformed entries", "malformed"],
)
def test_uris_are_mapped_where_they_stand(result: JsonObject, expected: JsonObject) -> None:
    before = copy.deepcopy(result)
    assert map_skills(result, public) == expected
    assert result == before
