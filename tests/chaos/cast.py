"""The upstreams of the chaos suite: steady ones, victims of kills and reloads, and those that misbehave."""

from dataclasses import dataclass, field
from typing import Any

from tests.chaos.upstreams import ChaosUpstream, Front, Role, add
from tests.rawclient import Era
from tests.rig import Rig

SHARED: dict[str, Any] = {"isolation": "shared"}
PRINCIPAL: dict[str, Any] = {"isolation": "principal"}

Row = tuple[str, Front, Era, Role, str, dict[str, Any]]
"""Name, transport, era, role, behaviour, settings."""

FULL: tuple[Row, ...] = (
    ("calm-1", "stdio", "handshake", "steady", "well", SHARED),
    ("calm-2", "stdio", "handshake", "steady", "well", SHARED),
    ("calm-3", "stdio", "modern", "steady", "well", SHARED),
    ("calm-4", "stdio", "modern", "steady", "well", PRINCIPAL),
    ("calm-5", "stdio", "handshake", "steady", "well", {}),
    ("calm-6", "stdio", "modern", "steady", "well", {}),
    ("calm-7", "http", "handshake", "steady", "well", {}),
    ("calm-8", "http", "handshake", "steady", "well", SHARED),
    ("calm-9", "http", "modern", "steady", "well", {}),
    ("calm-10", "http", "modern", "steady", "well", {}),
    ("calm-11", "http", "handshake", "steady", "well", PRINCIPAL),
    ("prey-1", "stdio", "handshake", "victim", "well", SHARED),
    ("prey-2", "stdio", "modern", "victim", "well", SHARED),
    ("prey-3", "stdio", "handshake", "victim", "well", {}),
    ("prey-4", "http", "handshake", "victim", "well", {}),
    ("prey-5", "http", "handshake", "victim", "well", SHARED),
    ("prey-6", "http", "modern", "victim", "well", {}),
    ("flood", "stdio", "handshake", "bad", "flood", SHARED),
    ("noise", "stdio", "modern", "bad", "noise", SHARED),
    ("half", "stdio", "handshake", "bad", "half", SHARED),
    ("huge", "stdio", "handshake", "bad", "huge", {**SHARED, "timeout": 30}),
    ("deaf", "stdio", "handshake", "bad", "deaf", {**SHARED, "timeout": 4}),
    ("stubborn", "stdio", "handshake", "bad", "stubborn", SHARED),
    ("brood", "stdio", "modern", "bad", "brood", SHARED),
    ("mute-init", "stdio", "handshake", "bad", "mute-init", {**SHARED, "init_timeout": 3}),
    ("mute-lists", "http", "handshake", "bad", "mute-lists", {**SHARED, "timeout": 4}),
    ("slow", "http", "modern", "bad", "slow", {}),
    ("refusing", "http", "handshake", "bad", "refusing", {}),
    ("resetting", "http", "handshake", "bad", "resetting", {}),
    ("forgetful", "http", "handshake", "bad", "forgetful", {}),
)
"""30 upstreams, 13 of which misbehave by themselves."""

SHORT = tuple(
    row
    for row in FULL
    if row[0] in ("calm-1", "calm-6", "calm-7", "calm-9", "prey-1", "prey-4", "prey-6")
    or row[0] in ("noise", "half", "deaf", "stubborn", "mute-init", "refusing", "resetting", "forgetful")
)
"""What CI runs."""

GUEST: Row = ("guest", "stdio", "handshake", "victim", "well", SHARED)
"""Comes and goes with reloads."""


@dataclass
class Cast:
    """The upstreams of one run."""

    rig: Rig
    all: list[ChaosUpstream] = field(default_factory=list)
    guest: ChaosUpstream | None = None

    @classmethod
    def of(cls, rig: Rig, rows: tuple[Row, ...], seed: str) -> "Cast":
        """Puts all of `rows` into the config, and prepares the guest."""
        cast = cls(rig)
        for name, front, era, role, behave, settings in rows:
            fields = {"role": role, "behave": behave, "settings": settings, "seed": seed}
            cast.all.append(add(rig, name, front, era, **fields))
        name, front, era, role, _, settings = GUEST
        cast.guest = ChaosUpstream(rig, name, front, era, role=role, settings=settings)
        return cast

    def of_role(self, role: Role) -> list[ChaosUpstream]:
        """Those with a role, without the guest."""
        return [upstream for upstream in self.all if upstream.role == role]

    @property
    def everybody(self) -> list[ChaosUpstream]:
        """With the guest."""
        return [*self.all, self.guest] if self.guest is not None else self.all
