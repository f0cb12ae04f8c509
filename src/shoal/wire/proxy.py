"""What Centrifugo asks a sentinel, and what it is answered.

Unlike elsewhere, names that are not known are let pass: a newer Centrifugo sends more of them.
"""

from typing import Any

import msgspec


class ProxyConnect(msgspec.Struct, frozen=True):
    """``data`` is what the client sent: ``{"token": "…"}``."""

    client: str
    data: Any = None


class ProxyRefresh(msgspec.Struct, frozen=True):
    client: str
    user: str = ""
    meta: dict[str, Any] | None = None


class ProxyChannel(msgspec.Struct, frozen=True):
    """To subscribe to a channel, or to publish to it."""

    client: str
    channel: str
    user: str = ""
    data: Any = None
    meta: dict[str, Any] | None = None


class ProxyCall(msgspec.Struct, frozen=True):
    client: str
    method: str
    user: str = ""
    data: Any = None
    meta: dict[str, Any] | None = None


class ProxyError(msgspec.Struct, frozen=True, omit_defaults=True):
    code: int
    message: str
    temporary: bool = False


class ProxyDisconnect(msgspec.Struct, frozen=True):
    code: int
    reason: str


class ProxyAnswer(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One of the three. To Centrifugo an empty ``result`` means yes, so it is never there by omission."""

    result: dict[str, Any] | None = None
    error: ProxyError | None = None
    disconnect: ProxyDisconnect | None = None
