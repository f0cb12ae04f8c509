"""What the relay needs of a way to tell events."""

from collections.abc import Sequence
from typing import Protocol

from shoal.events.model import Told, Turn


class Channel(Protocol):
    async def tell(self, turns: Sequence[Turn], *, until: float) -> Sequence[Told]:
        """Tell the events of each turn in its order; one answer for each turn, in the same order.

        * Nothing is told after ``until``, by the monotonic clock: the turns may be somebody else's then.
        * Never raises for what a sink or a network does: that is a ``Failure``.
        """
        ...

    async def close(self) -> None:
        """Let go of connections; nothing is told afterwards."""
        ...
