"""Decisions of the node: pure."""

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 60.0
MOST_DOUBLINGS = 10


def pause_s(failures: int, draw: float) -> float:
    """How long to wait after so many failures in a row; ``draw`` is a random number from 0 to 1.

    Twice as long after each, up to a minute, and anything from half of that on: thousands of nodes that lose
    the same server come back one by one.
    """
    whole = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** min(max(failures - 1, 0), MOST_DOUBLINGS))
    return whole * (0.5 + draw / 2)
