"""The base of every view over a JSON object: reading without raising, changing by copying.

The kinds of view are in `core/views.py`.
"""

import dataclasses
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Self

from wf_mcp.core.wire import JsonObject


class Drop(Enum):
    """The type of `DROP`, so that a checker can tell it from JSON values."""

    DROP = "DROP"


DROP: Final = Drop.DROP
"""Given to `replace` as a value: remove that key (`None` would put a JSON null there)."""


def text_of(raw: JsonObject, key: str) -> str | None:
    """Return the string at `key`; `None` for anything else."""
    value = raw.get(key)
    return value if isinstance(value, str) else None


def object_of(raw: JsonObject, key: str) -> JsonObject | None:
    """Return the object at `key`; `None` for anything else."""
    value = raw.get(key)
    return value if isinstance(value, dict) else None


def objects_of(raw: JsonObject, key: str) -> tuple[JsonObject, ...]:
    """Return the objects in the list at `key`; none where there is no list."""
    value = raw.get(key)
    return tuple(item for item in value if isinstance(item, dict)) if isinstance(value, list) else ()


@dataclass(frozen=True, slots=True)
class View:
    """One JSON object as a plug-in sees it; never change `raw` in place, the upstream's catalogue shares it."""

    raw: JsonObject

    def replace(self, /, **fields: Any) -> Self:
        """Return a view in which these wire fields (`inputSchema`, `_meta`, …) differ and everything else is kept.

        Keys keep their place, new ones go last, `DROP` removes. The same view comes back where nothing changes.
        """
        # `is`, not `==`: in Python False == 0 and 1 == 1.0, on the wire they differ.
        changed = {key: value for key, value in fields.items() if key not in self.raw or self.raw[key] is not value}
        if not any(value is not DROP or key in self.raw for key, value in changed.items()):
            return self
        merged = {**self.raw, **changed}
        return dataclasses.replace(self, raw={key: value for key, value in merged.items() if value is not DROP})

    @property
    def title(self) -> str | None:
        """The display name, where there is one."""
        return text_of(self.raw, "title")

    @property
    def description(self) -> str | None:
        """The description that a model reads, where there is one."""
        return text_of(self.raw, "description")

    @property
    def annotations(self) -> JsonObject | None:
        """`annotations` as sent: hints of a tool, audience and priority of content."""
        return object_of(self.raw, "annotations")

    @property
    def meta(self) -> JsonObject | None:
        """`_meta` as sent."""
        return object_of(self.raw, "_meta")
