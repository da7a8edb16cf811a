"""The four kinds of component that an upstream lists, and what each is called on the wire.

One table, so that listing, routing and capabilities never spell a method or a field twice
(2025-11-25 and 2026-07-28: server/tools, server/resources, server/prompts).
"""

from dataclasses import dataclass
from typing import Final, Literal

KindName = Literal["tools", "prompts", "resources", "templates"]


@dataclass(frozen=True, slots=True)
class Kind:
    """How one kind of component is listed: `method`, the result's `key`, the item's identifying `field`, the
    `capability`.
    """

    name: KindName
    method: str
    key: str
    field: str
    capability: str


TOOLS: Final = Kind("tools", "tools/list", "tools", "name", "tools")
PROMPTS: Final = Kind("prompts", "prompts/list", "prompts", "name", "prompts")
RESOURCES: Final = Kind("resources", "resources/list", "resources", "uri", "resources")
TEMPLATES: Final = Kind("templates", "resources/templates/list", "resourceTemplates", "uriTemplate", "resources")

KINDS: Final = (TOOLS, PROMPTS, RESOURCES, TEMPLATES)
KIND_OF_LIST: Final = {kind.method: kind for kind in KINDS}

KINDS_OF_CHANGE: Final[dict[str, tuple[Kind, ...]]] = {
    "notifications/tools/list_changed": (TOOLS,),
    "notifications/prompts/list_changed": (PROMPTS,),
    "notifications/resources/list_changed": (RESOURCES, TEMPLATES),
}
"""Which cached lists a change notification makes stale; resource templates have no notification of their own."""
