"""One server's face made of many: capabilities and instructions as clients see them (matrix D.1, design D16)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from wf_mcp.core.wire import JsonObject

INSTRUCTIONS_CAP = 2000
"""Characters kept of each upstream's instructions: hosts are reported to cut near 2 KB (matrix D.1)."""


@dataclass(frozen=True, slots=True)
class Offer:
    """What one upstream said of itself: `capabilities` is `None` while it has not answered yet."""

    label: str
    capabilities: JsonObject | None
    instructions: str | None = None


def merged_capabilities(offers: Iterable[Offer], *, own_tools: bool, modern: bool) -> JsonObject:
    """The capabilities that wf-mcp really serves.

    A kind is advertised when some upstream has it, or when some upstream is not known yet: a handshake session cannot
    learn of it later. `listChanged` is true for handshake clients, since wf-mcp originates changes itself, and false
    for modern ones, which hear changes only on a listen stream.
    """
    known = list(offers)
    unknown = any(offer.capabilities is None for offer in known)
    merged: JsonObject = {}
    for name in ("tools", "prompts", "resources"):
        offered = any(offer.capabilities is not None and name in offer.capabilities for offer in known)
        if offered or unknown or (name == "tools" and own_tools):
            merged[name] = {"listChanged": not modern}
    if "resources" in merged:
        merged["resources"]["subscribe"] = False
    for name in ("completions",) if modern else ("completions", "logging"):
        if any(offer.capabilities is not None and name in offer.capabilities for offer in known):
            merged[name] = {}
    return merged


def merged_instructions(offers: Sequence[Offer]) -> str | None:
    """Every upstream's instructions under its label, each capped; `None` when nobody has any."""
    parts = [_section(offer, offer.instructions) for offer in offers if offer.instructions]
    return "\n\n".join(parts) or None


def _section(offer: Offer, text: str) -> str:
    if len(text) > INSTRUCTIONS_CAP:
        text = text[:INSTRUCTIONS_CAP] + " […]"
    if not offer.label:
        return text
    return f"[{offer.label}] (its tools and prompts are listed as {offer.label}.*)\n{text}"
