"""How a task says what its failure means. Any other exception means: try again, as declared."""

import math

LONGEST_PAUSE_S = 365 * 86400.0


class PermanentFailure(Exception):
    """Trying again will not help: the task fails now, whatever attempts are left."""


class RetryAfter(Exception):
    """Try again, but not before this many seconds have passed."""

    def __init__(self, seconds: float, message: str = "") -> None:
        super().__init__(message or f"asked to be tried again in {seconds:g} s")
        self.seconds = pause_s(seconds)


class Snooze(Exception):
    """Nothing has failed, it is only too early: run again after this many seconds. Burns no attempt."""

    def __init__(self, seconds: float, message: str = "") -> None:
        super().__init__(message or f"asked to be run again in {seconds:g} s")
        self.seconds = pause_s(seconds)


def pause_s(seconds: float) -> float:
    """A pause that can be kept: at most a year, and none for what is not a number or lies in the past."""
    return 0.0 if math.isnan(seconds) else min(max(float(seconds), 0.0), LONGEST_PAUSE_S)
