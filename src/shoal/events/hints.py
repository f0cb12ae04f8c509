"""The beacon as a sink: each event, as a hint, to ``events:{user}`` of the user whose event it is."""

from collections.abc import Sequence
from typing import Any

import msgspec

from shoal.beacon.gate import Channel, Gate
from shoal.beacon.model import ErrorCode, Peer, Refused, Subscribed
from shoal.beacon.namespaces import EVENTS
from shoal.beacon.ports import Beacon
from shoal.events.model import Told, Turn
from shoal.events.store import view_of

PORTAL = "portal"


def open_events(gate: Gate) -> None:
    """A user hears their own events and nobody else's."""

    async def listen(peer: Peer, name: str, _data: Any) -> Subscribed:
        if peer.kind != PORTAL or name != peer.user:
            raise Refused(ErrorCode.PERMISSION_DENIED, "permission denied")
        return Subscribed()

    gate.open("events", Channel(EVENTS, subscribe=listen))


class Hints:
    """Told is what was said: who was not listening looks by themselves, so nothing is said twice."""

    def __init__(self, beacon: Beacon) -> None:
        self._beacon = beacon

    async def tell(self, turns: Sequence[Turn], *, until: float) -> Sequence[Told]:  # noqa: ARG002 - it is fast
        messages = [
            (f"events:{event.user_id}", msgspec.to_builtins(view_of(event)))
            for turn in turns
            for event in turn.events
            if event.user_id is not None
        ]
        if messages:
            await self._beacon.publish_many(messages)
        return [Told(len(turn.events)) for turn in turns]

    async def close(self) -> None:
        """The beacon is somebody else's."""
