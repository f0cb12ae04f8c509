"""What one client may cost, and how long it may be silent. The figures are Centrifugo's defaults."""

from dataclasses import dataclass

LONGEST_CHANNEL = 255
LARGEST_PAGE = 300
"""Publications in one reply, whether recovered or asked for."""


@dataclass(frozen=True, slots=True)
class Limits:
    ping_interval_s: float = 25.0
    pong_timeout_s: float = 8.0
    stale_s: float = 10.0
    """How long a client may take to connect."""
    expired_grace_s: float = 25.0
    """How long a client may take to renew a token that has expired."""
    channels: int = 128
    commands_under_way: int = 16
    """More of them wait, and no more is read meanwhile."""
    message_bytes: int = 64 * 1024
    queue_bytes: int = 1024 * 1024
    """What may wait for a client that does not read."""
    write_timeout_s: float = 1.0
    """How long a client may take to answer the end of the connection."""
