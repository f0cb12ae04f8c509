"""Bytes per second, at most. Whoever sends or receives asks before each piece."""

import asyncio

SLACK_S = 0.05
"""What a late timer cost may be made up for, up to so much."""


class Cap:
    """``rate`` in bytes a second; 0 is no cap."""

    def __init__(self, rate: int) -> None:
        self._rate = rate
        self._next = 0.0

    async def take(self, count: int) -> None:
        """Return when these bytes may pass."""
        if not self._rate:
            return
        now = asyncio.get_running_loop().time()
        begins = max(self._next, now - SLACK_S)
        self._next = begins + count / self._rate
        if self._next > now:
            await asyncio.sleep(self._next - now)
