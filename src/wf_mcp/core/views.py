"""What a plug-in sees of a message: small frozen views over the JSON that really travels.

A view adds names and types and takes nothing away: `raw` is the upstream's own object, unknown fields included, and a
change made with `replace` copies only the level that it changes. No property raises on malformed JSON; it answers with
`None` or something empty, since an odd upstream must not break a plug-in. Who applies the plug-ins' functions to views
is `plugin/chain.py`; a listing or result that no plug-in looks at is never wrapped at all.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from wf_mcp.core.view import View, object_of, objects_of, text_of
from wf_mcp.core.wire import JsonObject


@dataclass(frozen=True, slots=True)
class _Named(View):
    @property
    def name(self) -> str:
        """The name; empty where the upstream sent none."""
        return text_of(self.raw, "name") or ""


@dataclass(frozen=True, slots=True)
class Tool(_Named):
    """One entry of `tools/list`."""

    @property
    def input_schema(self) -> JsonObject:
        """The JSON Schema of the arguments; empty where the upstream sent none."""
        return object_of(self.raw, "inputSchema") or {}

    @property
    def output_schema(self) -> JsonObject | None:
        """The JSON Schema of `structuredContent`, where there is one."""
        return object_of(self.raw, "outputSchema")


@dataclass(frozen=True, slots=True)
class Prompt(_Named):
    """One entry of `prompts/list`."""

    @property
    def arguments(self) -> tuple[JsonObject, ...]:
        """The declared arguments, as JSON objects."""
        return objects_of(self.raw, "arguments")


@dataclass(frozen=True, slots=True)
class _Typed(_Named):
    @property
    def mime_type(self) -> str | None:
        """The media type, where there is one."""
        return text_of(self.raw, "mimeType")


@dataclass(frozen=True, slots=True)
class Resource(_Typed):
    """One entry of `resources/list`."""

    @property
    def uri(self) -> str:
        """The URI; empty where the upstream sent none."""
        return text_of(self.raw, "uri") or ""


@dataclass(frozen=True, slots=True)
class ResourceTemplate(_Typed):
    """One entry of `resources/templates/list`."""

    @property
    def uri_template(self) -> str:
        """The RFC 6570 template; empty where the upstream sent none."""
        return text_of(self.raw, "uriTemplate") or ""


Component: TypeAlias = Tool | Prompt | Resource | ResourceTemplate
"""Anything that a listing holds."""


@dataclass(frozen=True, slots=True)
class ContentBlock(_Named):
    """One content block of a tool result or prompt message, or one element of `contents` of a read.

    `text`, `uri`, `mime_type` and `blob` look into an embedded resource where the block is one.
    """

    @property
    def type(self) -> str:
        """`text`, `image`, `audio`, `resource_link`, `resource`, …; empty for an element of a read."""
        return text_of(self.raw, "type") or ""

    @property
    def text(self) -> str | None:
        """The text of a text block, of an embedded text resource, or of a text read."""
        return text_of(self._inner, "text")

    @property
    def uri(self) -> str | None:
        """The URI of a link, of an embedded resource, or of what was read."""
        return text_of(self._inner, "uri")

    @property
    def mime_type(self) -> str | None:
        """The media type, where there is one."""
        return text_of(self._inner, "mimeType")

    @property
    def data(self) -> str | None:
        """Base64 data of an image or audio block."""
        return text_of(self.raw, "data")

    @property
    def blob(self) -> str | None:
        """Base64 data of an embedded or read binary resource."""
        return text_of(self._inner, "blob")

    def with_text(self, text: str) -> "ContentBlock":
        """Return the block with `text` where its text stands, and the same block if it stands there already."""
        if text == self.text:
            return self
        if self._inner is self.raw:
            return self.replace(text=text)
        return self.replace(resource={**self._inner, "text": text})

    @property
    def _inner(self) -> JsonObject:
        embedded = object_of(self.raw, "resource") if self.type == "resource" else None
        return self.raw if embedded is None else embedded


BlockMap: TypeAlias = Callable[[ContentBlock], ContentBlock]


@dataclass(frozen=True, slots=True)
class Result(View):
    """The result of `tools/call`, `prompts/get` or `resources/read`; `CallInfo.method` tells which."""

    @classmethod
    def tool_error(cls, message: str) -> "Result":
        """Return a failed tool result that tells the model why (server/tools § Error Handling)."""
        return cls({"content": [{"type": "text", "text": message}], "isError": True})

    @property
    def content(self) -> tuple[ContentBlock, ...]:
        """Every content block in order: of a tool result, of all messages of a prompt, or of a read."""
        found: list[ContentBlock] = []

        def keep(block: ContentBlock) -> ContentBlock:
            found.append(block)
            return block

        self.map_content(keep)
        return tuple(found)

    @property
    def structured_content(self) -> Any:
        """`structuredContent` of a tool result; `None` where there is none."""
        return self.raw.get("structuredContent")

    @property
    def is_error(self) -> bool:
        """Whether a tool reports failure."""
        return self.raw.get("isError") is True

    def map_content(self, change: BlockMap) -> "Result":
        """Return the result with every block passed through `change`; what it leaves alone stays the same object."""
        mapped = {key: convert(self.raw[key], change) for key, convert in _CONTENT.items() if key in self.raw}
        return self.replace(**mapped)


def _map_items(items: Any, change: Callable[[JsonObject], JsonObject]) -> Any:
    """Map the objects of a JSON list; anything else, and a list in which nothing changes, comes back as it is."""
    if not isinstance(items, list):
        return items
    mapped = [change(item) if isinstance(item, dict) else item for item in items]
    return mapped if any(new is not old for new, old in zip(mapped, items, strict=True)) else items


def _map_block(block: JsonObject, change: BlockMap) -> JsonObject:
    return change(ContentBlock(block)).raw


def _map_blocks(blocks: Any, change: BlockMap) -> Any:
    return _map_items(blocks, lambda block: _map_block(block, change))


def _map_message(message: JsonObject, change: BlockMap) -> JsonObject:
    """Map a prompt message, whose content is one block; a list, which messages of sampling have, is tolerated."""
    old = message.get("content")
    new = _map_block(old, change) if isinstance(old, dict) else _map_blocks(old, change)
    return message if new is old else {**message, "content": new}


def _map_messages(messages: Any, change: BlockMap) -> Any:
    return _map_items(messages, lambda message: _map_message(message, change))


_CONTENT: Final[dict[str, Callable[[Any, BlockMap], Any]]] = {
    "content": _map_blocks,
    "messages": _map_messages,
    "contents": _map_blocks,
}
"""Where the three kinds of result keep their content; one result has one of them, unless its upstream is odd."""
