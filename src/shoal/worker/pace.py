"""How far ahead a worker claims: enough to stay busy until the next claim is answered, and no more.

What one worker holds and does not run yet, another cannot run. So slow tasks are claimed one for each
free place, and only where tasks end by the thousand does the worker hold a quarter of a second of them. Then
sync tasks also stand in line before the threads that run them, a few milliseconds long, so that a thread
that becomes free does not wait for the event loop.
"""

from dataclasses import dataclass

AHEAD_S = 0.25
MOST_AHEAD = 2000
SMOOTHING_S = 0.5
IN_LINE_S = 0.005
MOST_IN_LINE = 64


@dataclass(frozen=True)
class Pace:
    """How many tasks end in a second, smoothed over the last half second or so."""

    per_s: float = 0.0
    at: float = 0.0

    def after(self, ended: int, now: float) -> "Pace":
        """The pace when ``ended`` more tasks have ended by ``now``."""
        passed = now - self.at
        if passed <= 0:
            return self
        weight = min(passed / SMOOTHING_S, 1.0)
        return Pace(self.per_s * (1 - weight) + ended / passed * weight, now)


def wanted(pace: Pace, *, concurrency: int, waiting: int, running: int) -> int:
    """How many tasks to ask for now; 0 until asking is worth a call.

    A free place is worth one at once; a stock that is running down is filled up at half.
    """
    target = concurrency + min(int(pace.per_s * AHEAD_S), MOST_AHEAD)
    missing = target - waiting - running
    has_free_place = running + waiting < concurrency
    return missing if missing > 0 and (has_free_place or missing * 2 >= target) else 0


def in_line(pace: Pace) -> int:
    """How many sync tasks may wait for a thread, beyond those that run."""
    return min(int(pace.per_s * IN_LINE_S), MOST_IN_LINE)
