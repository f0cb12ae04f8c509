"""Time as a parameter: production passes the real clock, a test passes one it moves by hand."""

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """The wall clock, in UTC. Never used to decide who holds a lease: the server's clock is."""
        ...

    def monotonic(self) -> float:
        """Seconds that never jump, for deadlines within one process."""
        ...


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()
