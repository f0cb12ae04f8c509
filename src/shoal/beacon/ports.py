"""What rooms use of a beacon, whichever it is."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from shoal.beacon.model import DisconnectCode


class Beacon(Protocol):
    """Publishing never raises for a beacon that is away: hints may be lost, and whoever misses one looks.

    It answers False when something was not taken, for those who care to say it again.
    """

    async def publish(self, channel: str, data: Any) -> bool:
        """Send one message to whoever listens to the channel now (and to its history, if it keeps one)."""
        ...

    async def publish_many(self, messages: Sequence[tuple[str, Any]]) -> bool:
        """Several messages in one call, in order per channel."""
        ...

    async def disconnect(self, user: str, code: DisconnectCode, reason: str) -> None:
        """End all connections of a user."""

    async def presence(self, channel: str) -> Mapping[str, str]:
        """Who listens: the user of each client."""
        ...

    async def active(self, namespace: str) -> Sequence[str]:
        """The channels of a namespace that somebody listens to now. Raises ``Unavailable``."""
        ...

    async def check(self) -> None:
        """Raise ``Unavailable`` when the beacon does not answer."""
