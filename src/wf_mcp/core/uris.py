"""How an upstream's URIs and URI templates look to clients, and the way back (design D7, matrix C.5 and F.3).

| an upstream's | is, for the label `a.b` |
|---|---|
| `http://…`, `https://…` | itself: routed by who listed or linked it |
| `demo://host/x` | `demo://a/b/host/x` |
| `file:///x` | `file:///a/b/x`: an empty authority stays empty |
| `urn:x`, `users/me`, `{+uri}`, `wf://…` | `wf://a/b/` and the original as it is |

Strings in, strings out: nothing is parsed further, escaped or normalised. What a label may be is `names.py`'s.
"""

import re
from collections.abc import Collection
from typing import Final

from wf_mcp.core.names import LABEL_MAX

WRAPPER: Final = "wf"
"""Scheme of the public form of whatever has no authority that a label could go in front of."""

_WEB: Final = re.compile(r"https?://", re.IGNORECASE | re.ASCII)
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")


def is_web(uri: str) -> bool:
    """Tell whether a URI is an `http` or `https` one, which keeps its form here (design D7, matrix C.4)."""
    return _WEB.match(uri) is not None


def to_public(label: str, uri: str) -> str:
    """Return the public form of an upstream's URI (design D7); itself for a bare mount and for the web.

    The string alone decides, never whether it looks mapped already: an upstream may be a wf-mcp (matrix C.5 row 8).
    """
    if not label or is_web(uri):
        return uri
    path = label.replace(".", "/")
    scheme = _SCHEME.match(uri)
    if scheme is None or scheme[1].lower() == WRAPPER:
        return f"{WRAPPER}://{path}/{uri}"
    rest = uri[scheme.end() :]
    if not rest or rest.startswith("/"):
        return f"{scheme[0]}/{path}{rest}"
    return f"{scheme[0]}{path}/{rest}"


def template_to_public(label: str, template: str) -> str:
    """Return the public form of a URI template (design D7, matrix F.3): expressions stay as they are.

    What a client expands it to maps back like any URI, to what it would have expanded upstream's own template to.
    """
    # One rule is enough: a legal scheme and "://" hold no expression, so the label always goes before the first one.
    return to_public(label, template)


def to_upstream(label: str, public: str) -> str | None:
    """Return what the upstream with this label calls a public URI, or None if it is not under this label (design D7).

    A URI of the web is itself for every label; whose it is, the ownership table says.
    """
    if not label or is_web(public):
        return public
    found = _labelled(public, (label,))
    return None if found is None else found[1]


def decode(public: str, labels: Collection[str]) -> tuple[str, str] | None:
    """Return the label that a public URI is under and the URI that its upstream knows, or None (design D7).

    `labels` are those mounted, none another plus `.…` (D6); looking one up should be fast. A bare mount (`""`) gets
    what no label claims. None for the web: the ownership table knows.
    """
    if is_web(public):
        return None
    found = _labelled(public, labels)
    if found is None and "" in labels:
        return "", public
    return found


def _labelled(public: str, labels: Collection[str]) -> tuple[str, str] | None:
    scheme = _SCHEME.match(public)
    if scheme is None:
        return None
    wrapped = scheme[1].lower() == WRAPPER
    rest = public[scheme.end() :]
    empty_authority = rest.startswith("/") and not wrapped
    taken = _take_label(rest.removeprefix("/") if empty_authority else rest, labels)
    if taken is None:
        return None
    label, tail = taken
    if empty_authority:
        return label, scheme[0] + tail
    if not tail:
        return None  # `demo://label`: no URI or expanded template has this form
    return label, tail[1:] if wrapped else scheme[0] + tail[1:]


def _take_label(text: str, labels: Collection[str]) -> tuple[str, str] | None:
    """Split `a/b/rest` into the label `a.b` and `/rest`, looking only as far as a label can reach."""
    ends = [found.start() for found in re.finditer("/", text[: LABEL_MAX + 1])]
    if len(text) <= LABEL_MAX:
        ends.append(len(text))
    for end in ends:
        head = text[:end]
        if "." in head:
            return None  # a label's dots are slashes here, so this is somebody's host or file
        label = head.replace("/", ".")
        if label and label in labels:
            return label, text[end:]
    return None
