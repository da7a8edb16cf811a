"""How an upstream's names look to clients: its label, the dotted form and the safe form (design D6).

Encodes only. Names come back by table (the routes), never by splitting, so nothing here decodes. Knows no
upstream but the one it is asked about; `uris.py` does the same for URIs.
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

RESERVED: Final = "wf"
"""The label of wf-mcp itself."""

ADMIN: Final = "wf.admin."
"""What the dotted name of every admin tool starts with."""

LABEL_MAX: Final = 128
"""Longest label: a tool name of a longer one could not be legal (matrix F.1), and URIs are searched this far only."""

MIN_BUDGET: Final = 16
"""Smallest budget of safe names that leaves room for a letter and enough of the hash."""

_HASH: Final = 6


@dataclass(frozen=True, slots=True)
class LabelClash:
    """Two connection ids that cannot be mounted together; `second_id` is None where the label is reserved.

    `reason` is one sentence for people and names every id concerned.
    """

    first_id: str
    second_id: str | None
    reason: str


def label_of(connection_id: str) -> str:
    """Return the label of a connection id: what names and URIs use instead of it (design D6, matrix C.5 row 4).

    Any id has one (`GitHub` is `github`, `@scope/name` is `scope-name`); longer than `LABEL_MAX` is cut and hashed.
    """
    runs = re.sub(r"[^a-z0-9.]+", "-", connection_id.lower())
    label = ".".join(part for part in (run.strip("-") for run in runs.split(".")) if part)
    if not label:
        return f"u-{_digest(connection_id)[:_HASH]}"
    if not label[0].isalpha():
        label = f"u-{label}"
    if len(label) > LABEL_MAX:
        label = f"{label[: LABEL_MAX - _HASH - 1].rstrip('.-')}-{_digest(connection_id)[:_HASH]}"
    return label


def is_label(text: str) -> bool:
    """Tell whether `text` can be a label as it is (design D6); false for `""`, which asks for a bare mount."""
    return label_of(text) == text


def label_clashes(labels: Mapping[str, str]) -> list[LabelClash]:
    """Return why the labels, by connection id, cannot be mounted together; empty when they can (design D6).

    Equal labels clash, a label and the same one plus `.…`, anything under the reserved `wf`, and two bare mounts.
    """
    owners: dict[str, str] = {}
    for connection_id, label in labels.items():
        owners.setdefault(label, connection_id)
    return [clash for connection_id, label in labels.items() for clash in _clashes_of(connection_id, label, owners)]


def dotted_name(label: str, name: str) -> str:
    """Return the dotted public form of a name; the name itself for a bare mount (design D6)."""
    return f"{label}.{name}" if label else name


def safe_names(
    connection_id: str, label: str, names: Sequence[str], *, budget: int = 50, hashed: bool = False
) -> dict[str, str]:
    """Return the safe form of each name of one upstream, by name (design D6, matrix F.2, field cases F29 to F31).

    Every value matches `^[A-Za-z](_?[A-Za-z0-9])*$`, has at most `budget` characters and differs from the others in
    more than case. Depends on the set of names, not on their order or on other upstreams: where this label's safe
    form meets another's (`safe_label_clashes`) the caller says `hashed`, and every name carries its hash.

    Raises:
        ValueError: `budget` is below `MIN_BUDGET`.
    """
    if budget < MIN_BUDGET:
        raise ValueError(f"a budget of {budget} is too small for safe names; the least is {MIN_BUDGET}")
    digits = {name: _HASH if hashed or not _slug(name) else 0 for name in names}
    while True:
        forms = {name: _safe_form(connection_id, label, name, digits[name], budget) for name in digits}
        # A hashed form may meet another's plain form, or its hash: whoever is concerned shows more of its own.
        crowded = [name for name in _crowded(forms) if digits[name] < budget - 2]
        if not crowded:
            return forms
        for name in crowded:
            digits[name] = min(max(digits[name] + 2, _HASH), budget - 2)


def plain_safe_name(label: str, name: str) -> str:
    """Return the safe form that a name would have if nothing stood in the way: no budget, no other name, no hash."""
    trunk = "_".join(part for part in (_slug(label), _slug(name)) if part)
    return trunk if trunk[:1].isalpha() else f"u_{trunk}".rstrip("_")


def why_not_plain(label: str, name: str, safe: str, *, budget: int, hashed: bool) -> str | None:
    """Return, in words, why the safe form of a name is not its plain one; None where it is.

    `hashed` as for `safe_names`: whether every name of this label carries a hash.
    """
    plain = plain_safe_name(label, name)
    if safe == plain:
        return None
    if len(plain) > budget:
        return f"shortened, since {len(plain)} characters are over the budget of {budget}"
    if not _slug(name):
        return "its own name has no character that safe names may have"
    if hashed:
        return f"all names of {label} carry a hash, since another upstream's could be read as theirs"
    return "another name of the same upstream reads the same without hash"


def safe_label_clashes(labels: Iterable[str]) -> frozenset[str]:
    """Return the labels whose safe form equals another's or is another's plus `_…`, both sides (design D6).

    The names of these need their hash. wf-mcp's own `wf` counts as present and is never returned; a bare mount's
    empty label has no safe form.
    """
    by_safe: defaultdict[str, set[str]] = defaultdict(set)
    for label in {*labels, RESERVED} - {""}:
        by_safe[_slug(label)].add(label)
    clashing: set[str] = set()
    for safe, same in by_safe.items():
        shorter = set().union(*(by_safe[head] for head in _heads(safe, "_") if head in by_safe))
        if shorter or len(same) > 1:
            clashing |= same | shorter
    return frozenset(clashing - {RESERVED})


def _clashes_of(connection_id: str, label: str, owners: Mapping[str, str]) -> Iterator[LabelClash]:
    first = owners[label]
    if first != connection_id:
        same = f'have the same label "{label}"' if label else 'both have the namespace "", which one upstream can have'
        yield LabelClash(first, connection_id, f'"{first}" and "{connection_id}" {same}')
    heads = list(_heads(label, "."))
    if RESERVED in (label, *heads):
        yield LabelClash(
            connection_id, None, f'"{connection_id}" has the label "{label}", but "{RESERVED}" is reserved for wf-mcp'
        )
    for head in heads:
        if head in owners:
            reason = (
                f'"{connection_id}" has the label "{label}", which lies under "{head}", the label of "{owners[head]}"'
            )
            yield LabelClash(owners[head], connection_id, reason)


def _heads(text: str, separator: str) -> Iterator[str]:
    """Every part of `text` that ends just before a separator: `a.b.c` has `a` and `a.b`."""
    return (text[: found.start()] for found in re.finditer(re.escape(separator), text))


def _safe_form(connection_id: str, label: str, name: str, digits: int, budget: int) -> str:
    trunk = plain_safe_name(label, name)
    if digits == 0 and len(trunk) <= budget:
        return trunk
    shown = _digest(f"{connection_id}\0{name}")[: max(digits, _HASH)]
    return f"{trunk[: budget - len(shown) - 1].rstrip('_')}_{shown}"


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_")


def _crowded(forms: Mapping[str, str]) -> list[str]:
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for name, form in forms.items():
        groups[form.lower()].append(name)
    return [name for group in groups.values() if len(group) > 1 for name in group]


def _digest(text: str) -> str:
    # JSON may carry half a surrogate pair, and its name needs a hash like any other.
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
