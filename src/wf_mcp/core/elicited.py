"""Error -32042: an upstream of 2025-11-25 wants URLs opened before the call is made again (2025-11-25
client/elicitation § URL Elicitation Required Error; matrix D.3). Other revisions do not know it.
"""

from typing import Any, Final

from wf_mcp.core.errors import WfMcpError
from wf_mcp.core.inputs import ELICITATION
from wf_mcp.core.wire import JsonObject

URL_ELICITATION_REQUIRED: Final = -32042

KNOWN_SINCE: Final = "2025-11-25"
"""The first revision whose clients know the error; 2026-07-28 has questions in its place."""


def elicitations(error: WfMcpError) -> list[JsonObject] | None:
    """The URLs that an error asks to be opened, each with its message; `None` where it is about something else."""
    if error.code != URL_ELICITATION_REQUIRED:
        return None
    entries: Any = error.data.get("elicitations") if isinstance(error.data, dict) else None
    found = entries if isinstance(entries, list) else []
    usable = [dict(each) for each in found if isinstance(each, dict) and isinstance(each.get("url"), str)]
    return usable or None


def as_questions(wanted: list[JsonObject]) -> dict[str, tuple[str, JsonObject]]:
    """One URL elicitation for each entry, by key."""
    return {
        f"url-{number}": (ELICITATION, {"message": "", **each, "mode": "url"}) for number, each in enumerate(wanted, 1)
    }


def in_words(message: str, wanted: list[JsonObject]) -> str:
    """The same as text, for those who cannot be given the URLs in another way."""
    lines = [f"- {each.get('message') or 'open'}: {each['url']}" for each in wanted]
    return "\n".join([f"{message}. Open these addresses, then make the call again:", *lines])
