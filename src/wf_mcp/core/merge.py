"""One server's face made of many: capabilities and instructions as clients see them (matrix D.1, design D16)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from wf_mcp.core.skills import SKILLS
from wf_mcp.core.tasks import TASKS_EXTENSION
from wf_mcp.core.wire import JsonObject

APPS = "io.modelcontextprotocol/ui"
"""The extension of MCP Apps; its resources and `_meta` pass through the merge."""

PARTIAL = "wf-mcp/partial"
"""The `_meta` key that names upstreams missing from a list, or in it with what they offered before."""

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
    learn of it later. `listChanged` is always true, since wf-mcp originates changes itself; modern clients hear them,
    and of resources, on a listen stream. Whoever passes on log messages declares `logging`, in both eras.
    """
    known = list(offers)
    unknown = any(offer.capabilities is None for offer in known)
    merged: JsonObject = {}
    for name in ("tools", "prompts", "resources"):
        offered = any(offer.capabilities is not None and name in offer.capabilities for offer in known)
        if offered or unknown or (name == "tools" and own_tools):
            merged[name] = {"listChanged": True}
    if "resources" in merged:
        merged["resources"]["subscribe"] = any(_declares(each, "resources", "subscribe") for each in known)
    if not modern and (tasks := _tasks(known)):
        merged["tasks"] = tasks
    if found := _extensions(known, modern=modern):
        merged["extensions"] = found
    for name in ("completions", "logging"):
        if any(offer.capabilities is not None and name in offer.capabilities for offer in known):
            merged[name] = {}
    return merged


def _declares(offer: Offer, capability: str, feature: str) -> bool:
    settings = (offer.capabilities or {}).get(capability)
    return isinstance(settings, dict) and settings.get(feature) not in (None, False)


def _extensions(offers: list[Offer], *, modern: bool) -> JsonObject:
    """The extensions that wf-mcp serves end to end, if some upstream has them (matrix D.1).

    Hosts look for MCP Apps in `initialize` too. Tasks of the extension are for modern clients.
    """
    found: JsonObject = {}
    if apps := _settings(offers, APPS):
        found[APPS] = apps[0]
    if modern and _settings(offers, TASKS_EXTENSION):
        found[TASKS_EXTENSION] = {}
    if skills := _settings(offers, SKILLS):
        every = all(each.get("directoryRead") for each in skills)
        found[SKILLS] = {"directoryRead": True} if every else {}
    return found


def _settings(offers: list[Offer], extension: str) -> list[JsonObject]:
    """What each upstream that has an extension says of it."""
    declared = ((offer.capabilities or {}).get("extensions") for offer in offers)
    settings = [each.get(extension) for each in declared if isinstance(each, dict)]
    return [each for each in settings if isinstance(each, dict)]


def _tasks(offers: list[Offer]) -> JsonObject | None:
    """Tasks, if some upstream has them for tools; listing and cancelling only if all of those can (matrix D.1)."""
    able = [offer for offer in offers if "tasks" in (offer.capabilities or {})]
    if not able:
        return None
    shared: JsonObject = {
        name: {} for name in ("list", "cancel") if all(_declares(offer, "tasks", name) for offer in able)
    }
    return {**shared, "requests": {"tools": {"call": {}}}}


def merged_instructions(offers: Sequence[Offer]) -> str | None:
    """One section for each labelled upstream: how its tools are listed, then its own instructions, capped (design D16).

    `None` where there is nothing to say: a bare mount has no label, and its instructions stand as they are.
    """
    parts = [_section(offer) for offer in offers if offer.instructions or (offer.label and _has_named(offer))]
    return "\n\n".join(parts) or None


def _has_named(offer: Offer) -> bool:
    """Whether an upstream lists something under a name."""
    return not {"tools", "prompts"}.isdisjoint(offer.capabilities or {})


def _section(offer: Offer) -> str:
    text = offer.instructions or ""
    if len(text) > INSTRUCTIONS_CAP:
        text = text[:INSTRUCTIONS_CAP] + " […]"
    if not offer.label:
        return text
    heading = f"[{offer.label}] Its tools and prompts are listed as {offer.label}.*"
    return f"{heading}\n{text}" if text else heading


def merged_meta(first: JsonObject | None, second: object) -> JsonObject | None:
    """The `_meta` of two parts of one list; where both say something under one key, the first part's stands."""
    if not isinstance(second, dict):
        return first
    return second if first is None else {**second, **first}
