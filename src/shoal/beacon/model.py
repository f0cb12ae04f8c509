"""Who is connected, and what the gate answers. The words are those of Centrifugo's proxies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any


class ErrorCode(IntEnum):
    """Errors of the client protocol; own ones are from 400 to 1999."""

    INTERNAL = 100  # temporary
    UNAUTHORIZED = 101
    UNKNOWN_CHANNEL = 102
    PERMISSION_DENIED = 103
    METHOD_NOT_FOUND = 104
    ALREADY_SUBSCRIBED = 105
    LIMIT_EXCEEDED = 106
    BAD_REQUEST = 107
    NOT_AVAILABLE = 108
    TOKEN_EXPIRED = 109
    EXPIRED = 110
    TOO_MANY_REQUESTS = 111  # temporary
    UNRECOVERABLE_POSITION = 112
    CONCURRENT_PAGINATION = 113  # temporary


class DisconnectCode(IntEnum):
    """Why a connection ends. From 3500 to 3999 and from 4500 to 4999 the client does not come back."""

    CLOSED = 3000
    SHUTDOWN = 3001
    SERVER_ERROR = 3004
    EXPIRED = 3005
    SUBSCRIPTION_EXPIRED = 3006
    SLOW = 3008
    WRITE_ERROR = 3009
    INSUFFICIENT_STATE = 3010
    FORCE_RECONNECT = 3011
    NO_PONG = 3012
    TOO_MANY_REQUESTS = 3013
    INVALID_TOKEN = 3500
    BAD_REQUEST = 3501
    STALE = 3502
    FORCE_NO_RECONNECT = 3503
    CONNECTION_LIMIT = 3504
    CHANNEL_LIMIT = 3505
    INAPPROPRIATE_PROTOCOL = 3506
    PERMISSION_DENIED = 3507
    NOT_AVAILABLE = 3508
    TOO_MANY_ERRORS = 3509
    RATE_LIMITED = 4429
    AUTHENTICATION_FAILED = 4501


class Refused(Exception):
    """The command is answered with an error; the connection stays."""

    def __init__(self, code: int, message: str, *, temporary: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.temporary = temporary


class Cut(Exception):
    """The connection is ended with this code."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Identity:
    """What a connection token (or the connect proxy) says about whoever connects.

    ``meta`` is never shown to a client; ``info`` is what presence and join messages show of it.
    """

    user: str
    expires_at: int | None = None
    info: Mapping[str, Any] | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    channels: Sequence[str] = ()
    """Subscribed to by the server on connect; the client must not subscribe to these itself."""


@dataclass(frozen=True, slots=True)
class Peer:
    """One connection: ``client`` names it, ``user`` says whose it is."""

    client: str
    user: str
    meta: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """``node``, ``portal``, or empty for a peer nobody vouched for."""
        return str(self.meta.get("kind", ""))


@dataclass(frozen=True, slots=True)
class ChannelOptions:
    """What a channel keeps and tells, the same on both beacons (``shoal beacon config`` writes them)."""

    presence: bool = False
    join_leave: bool = False
    history_size: int = 0
    history_ttl_s: int = 0
    recovery: bool = False


@dataclass(frozen=True, slots=True)
class Subscribed:
    """A subscription is allowed. ``data`` reaches the subscriber with the reply."""

    data: Any = None
    expires_at: int | None = None
