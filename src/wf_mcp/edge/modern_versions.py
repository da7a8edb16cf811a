"""Which versions an upstream speaks, as far as its answers tell (2026-07-28 basic/versioning § Protocol Version
Negotiation, basic/index § Error Codes).
"""

from typing import Final

from mcp_types import HEADER_MISMATCH, MISSING_REQUIRED_CLIENT_CAPABILITY, UNSUPPORTED_PROTOCOL_VERSION
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from wf_mcp.edge.hop import NoAgreement

MODERN_CODES: Final = frozenset({HEADER_MISMATCH, MISSING_REQUIRED_CLIENT_CAPABILITY, UNSUPPORTED_PROTOCOL_VERSION})
"""Codes that only 2026-07-28 has."""


def newest(offered: object) -> str | None:
    """The newest modern version that both sides speak."""
    common = [each for each in MODERN_PROTOCOL_VERSIONS if isinstance(offered, list) and each in offered]
    return common[-1] if common else None


def supported(refusal: NoAgreement) -> list[object] | None:
    """The versions that a `-32022` names."""
    if refusal.answer is None or refusal.answered != UNSUPPORTED_PROTOCOL_VERSION:
        return None
    data = refusal.answer.error.data
    versions = data.get("supported") if isinstance(data, dict) else None
    return versions if isinstance(versions, list) else None


def says_modern(refusal: NoAgreement) -> bool:
    """Whether an error shows a modern server; `-32022` does unless it names versions of the handshake era alone."""
    if refusal.answered != UNSUPPORTED_PROTOCOL_VERSION:
        return refusal.answered in MODERN_CODES
    versions = supported(refusal)
    if versions is None:
        return False
    return newest(versions) is not None or not any(each in HANDSHAKE_PROTOCOL_VERSIONS for each in versions)
