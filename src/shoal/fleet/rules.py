"""Decisions of the fleet: pure. Where a Lua script decides the same, it does the same steps."""

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass

from shoal.fleet.model import Moments

FRESH_MS = 60_000
"""A node that was not heard for this long gets nothing more: two heartbeats were missed."""
SILENCE_MS = 90_000
"""A node that was not heard for this long loses what it holds. Longer than ``FRESH_MS``, so that no node
gets a chunk and loses it in turns."""
STALL_MS = 300_000
LONGEST_MS = 6 * 3600 * 1000
LOCK_MS = 60_000
SPARE_AFTER_MS = 5_000
"""At the end of a plan, what a node holds for longer goes to one more."""
SWEEP_S = 0.5
RECONCILE_S = 2.0
SPREAD_S = 1.0
BUSY_FOR_S = 5.0
MOST_PARALLEL = 1024
MOST_AHEAD = 16
"""A node never holds more than this many chunks for each one it runs at a time."""


def limit_of(max_parallel: int) -> int:
    return max_parallel * MOST_AHEAD


def depth_of(max_parallel: int, chunk_s: float | None) -> int:
    """How many chunks a node should hold: what runs, and what keeps it busy for a few seconds more.

    A node of which nothing is known yet gets one chunk more than it runs.
    """
    if chunk_s is None or not math.isfinite(chunk_s) or chunk_s < 0:
        return max_parallel + 1
    ahead = BUSY_FOR_S * max_parallel / max(chunk_s, 0.001)
    return min(limit_of(max_parallel), max_parallel + max(1, math.ceil(ahead)))


def digest(ids: Iterable[str]) -> str:
    """What a node holds, in 40 characters."""
    return hashlib.sha1(
        "".join(f"{one}\n" for one in sorted(ids)).encode(), usedforsecurity=False
    ).hexdigest()


@dataclass
class Fold:
    """Moments folded one part after the other; the sums are compensated (Kahan).

    A million parts lose no more digits than ten, in whatever order they come.
    """

    count: float = 0.0
    mean: float = 0.0
    mean_lost: float = 0.0
    m2: float = 0.0
    m2_lost: float = 0.0
    least: float = math.inf
    most: float = -math.inf

    def add(self, part: Moments) -> None:
        before, after = self.count, self.count + part.count
        apart = (part.mean - self.mean) + self.mean_lost
        self.m2, self.m2_lost = _added(
            self.m2, self.m2_lost, part.m2 + apart * apart * (before / after) * part.count
        )
        self.mean, self.mean_lost = _added(self.mean, self.mean_lost, apart * (part.count / after))
        self.count = after
        self.least, self.most = min(self.least, part.least), max(self.most, part.most)

    @property
    def moments(self) -> Moments:
        return Moments(int(self.count), self.mean, self.m2, self.least, self.most)


def _added(total: float, lost: float, term: float) -> tuple[float, float]:
    corrected = term - lost
    larger = total + corrected
    return larger, (larger - total) - corrected
