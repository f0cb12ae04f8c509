"""Decisions of the node: pure, but for the pause that is drawn."""

import random

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 60.0
MOST_DOUBLINGS = 10
NEWEST_COUNTS = 0.4
NOTEWORTHY = 2.0


def pause_s(failures: int, draw: float) -> float:
    """How long to wait after so many failures in a row; ``draw`` is a random number from 0 to 1.

    Twice as long after each, up to a minute, and anything from half of that on: thousands of nodes that lose
    the same server come back one by one.
    """
    whole = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** min(max(failures - 1, 0), MOST_DOUBLINGS))
    return whole * (0.5 + draw / 2)


def random_pause_s(failures: int) -> float:
    return pause_s(failures, random.random())  # noqa: S311 - it only keeps nodes apart


def smoothed(before: float | None, newest: float) -> float:
    """How long a chunk takes, after one more; jobs differ, so the newest ones count most."""
    return newest if before is None else before + NEWEST_COUNTS * (newest - before)


def is_noteworthy(told: float | None, now: float | None) -> bool:
    """Whether chunks take so much more or less time than was told that the server should hear of it now."""
    if now is None or told is None:
        return now is not None
    return not told / NOTEWORTHY <= now <= told * NOTEWORTHY


def places_of(own: int, set_by_owner: int | None) -> int:
    """How many chunks run at a time: what the owner has set, and never more than the machine gives."""
    return own if set_by_owner is None else min(own, set_by_owner)
