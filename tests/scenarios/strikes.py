"""Faults: what strikes, when, and how many tasks it caught."""

import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from tests.scenarios.cluster import Cluster

NOTICE_S = 60.0


@dataclass(frozen=True)
class Fault:
    """``strike`` does it and returns how many claimed tasks it caught."""

    name: str
    strike: Callable[[Cluster], Awaitable[int]]


@dataclass(frozen=True)
class Planned:
    """A fault that strikes once so many tasks have completed."""

    at_completed: int
    fault: Fault


@dataclass
class Verdict:
    """What one run came to."""

    seed: str
    caught: dict[str, int] = field(default_factory=dict)
    complaints: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        return not self.complaints

    def note(self, line: str) -> None:
        self.notes.append(line)
        say(f"  {line}")

    def require_a_hit(self) -> None:
        if not any(self.caught.values()):
            self.complaints.append("no fault hit work in progress: this run proves nothing")


async def strike_as_planned(cluster: Cluster, planned: Planned, verdict: Verdict) -> None:
    """Wait until the work has come to its mark, then strike."""
    number, fault = len(verdict.caught) + 1, planned.fault

    async def reached() -> bool:
        return bool(cluster.fallen()) or await cluster.ledger.completed() >= planned.at_completed

    if not await cluster.ledger.until(reached, within_s=NOTICE_S) or cluster.fallen():
        verdict.complaints.append(f"the work stopped before fault {number} ({fault.name})")
        return
    completed = await cluster.ledger.completed()
    caught = await fault.strike(cluster)
    verdict.caught[f"{number} {fault.name}"] = caught
    effect = f"hit {caught} claimed tasks" if caught else "hit no work in progress"
    verdict.note(f"fault {number}: {fault.name} after {completed} completed: {effect}")


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
