"""Who called what, how it ended, and whether that can be true: no reply lost, doubled or crossed."""

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

from tests.chaos.upstreams import ChaosUpstream
from tests.inbox import JsonObject

Outcome = Literal["open", "result", "error", "given up", "left"]
"""`given up`: the client cancelled the call; `left`: it went away in the middle."""


@dataclass
class Entry:
    """One call."""

    token: str
    client: str
    upstream: ChaosUpstream
    outcome: Outcome = "open"


@dataclass
class Ledger:
    """Every call of a run. `faults` has a line for whatever must not happen."""

    entries: dict[str, Entry] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    latencies: dict[str, list[float]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def open(self, client: str, upstream: ChaosUpstream) -> Entry:
        """A call is about to be made; its token is used for nothing else."""
        token = f"{client}.{len(self.entries)}"
        self.entries[token] = Entry(token, client, upstream)
        return self.entries[token]

    def fault(self, text: str) -> None:
        """Something that must not happen."""
        self.faults.append(text)

    def result(self, entry: Entry, result: JsonObject) -> None:
        """A call ended with a result, or with wf-mcp's or the upstream's own error as one."""
        text = result["content"][0]["text"]
        if result.get("isError"):
            self.error(entry, text)
            return
        entry.outcome = "result"
        said = json.loads(text)
        found = (said["token"], said["client"], said["name"])
        if found != (entry.token, entry.client, entry.upstream.name):
            self.fault(f"crossed: {entry.client} asked {entry.upstream.name} with {entry.token} and was told {found}")

    def error(self, entry: Entry, message: str) -> None:
        """A call ended with an error: its message has to say which upstream is at fault."""
        entry.outcome = "error"
        self.errors[entry.upstream.behave] += 1
        name, port = entry.upstream.name, entry.upstream.port
        if name not in message and not (port and str(port) in message):
            self.fault(f"unclear error of {name}: {message}")
        if entry.upstream.role == "steady":
            self.fault(f"error of a healthy upstream, {name}: {message}")

    def heard(self, client: str, params: JsonObject) -> None:
        """A client heard progress."""
        self.counts["progress"] += 1
        entry = self.entries.get(params.get("message", ""))
        if entry is None or (entry.client, entry.token) != (client, params["progressToken"]):
            self.fault(f"crossed: {client} heard the progress {params}")

    def audit(self, upstreams: list[ChaosUpstream]) -> None:
        """Compares with what the upstreams logged."""
        runs: dict[str, Counter[str]] = {upstream.name: upstream.executions() for upstream in upstreams}
        for name, counter in runs.items():
            for token, times in counter.items():
                entry = self.entries.get(token)
                if entry is None or entry.upstream.name != name:
                    self.fault(f"crossed: {name} executed {token}, which was not for it")
                elif times > 1:
                    self.fault(f"doubled: {name} executed {token} {times} times ({entry.outcome})")
        for entry in self.entries.values():
            if entry.outcome == "open":
                self.fault(f"lost: {entry.token} to {entry.upstream.name} has never ended")
            if entry.outcome == "result" and runs[entry.upstream.name][entry.token] == 0:
                self.fault(f"invented: {entry.token} has a result, and {entry.upstream.name} never executed it")
        self.counts.update(entry.outcome for entry in self.entries.values())
