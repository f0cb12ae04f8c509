"""Who listens to which channel, and what they are told when they come, when they go, and in between."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import msgspec

from shoal.beacon.hub import replies
from shoal.beacon.hub.commands import History, Position
from shoal.beacon.hub.stream import Stream
from shoal.beacon.model import ChannelOptions, ErrorCode, Refused

IDLE_STREAM_S = 3600.0
"""How long after its last publication the numbering of a channel nobody listens to is kept."""

REJECT_UNRECOVERED = 2
"""The flag of a client that rather fails to subscribe than to miss something."""


class Listener(Protocol):
    """One connection, as far as a channel knows it."""

    client: str
    user: str

    @property
    def info(self) -> Mapping[str, Any]: ...

    def push(self, message: bytes) -> None: ...


class Channel:
    __slots__ = ("listeners", "name", "options", "stream")

    def __init__(self, name: str, options: ChannelOptions, epoch: str) -> None:
        self.name = name
        self.options = options
        self.listeners: dict[Listener, None] = {}
        self.stream = (
            Stream(epoch=epoch, size=options.history_size, ttl_s=options.history_ttl_s)
            if options.history_size
            else None
        )

    def publish(self, data: msgspec.Raw, now: float) -> int:
        """The size of what each listener is sent."""
        body = replies.encode({"data": data}) if self.stream is None else self.stream.add(data, now)
        message = replies.push(self.name, "pub", body)
        for listener in self.listeners:
            listener.push(message)
        return len(message)

    def result(self, position: Position, now: float, *, flag: int = 0) -> dict[str, Any]:
        """What a new listener is told of the stream, with what it missed."""
        if self.stream is None or not self.options.recovery:
            return {}
        result: dict[str, Any] = {
            "recoverable": True,
            "positioned": True,
            "epoch": self.stream.epoch,
            "offset": self.stream.offset,
        }
        if position.recover:
            missed = self.stream.missed(position, now)
            if missed is None and flag & REJECT_UNRECOVERED:
                raise Refused(ErrorCode.UNRECOVERABLE_POSITION, "unrecoverable position")
            result |= {"was_recovering": True, "recovered": missed is not None}
            if missed is not None:
                result |= {"publications": missed, "offset": position.offset}
        return result

    def enter(self, listener: Listener) -> None:
        """To be called once the reply is on its way: from here on, pushes come."""
        self.listeners[listener] = None
        self._tell("join", listener)

    def leave(self, listener: Listener) -> None:
        if listener in self.listeners:
            del self.listeners[listener]
            self._tell("leave", listener)

    def presence(self) -> dict[str, Mapping[str, Any]]:
        return {listener.client: listener.info for listener in self.listeners}

    def presence_stats(self) -> dict[str, int]:
        return {
            "num_clients": len(self.listeners),
            "num_users": len({listener.user for listener in self.listeners}),
        }

    def history(self, asked: History, now: float) -> dict[str, Any]:
        if self.stream is None:
            raise _not_available()
        return {
            "publications": self.stream.page(asked.limit, asked.since, reverse=asked.reverse, now=now),
            "epoch": self.stream.epoch,
            "offset": self.stream.offset,
        }

    def is_idle(self, now: float) -> bool:
        return not self.listeners and (self.stream is None or self.stream.is_idle(now, IDLE_STREAM_S))

    def _tell(self, what: str, listener: Listener) -> None:
        if self.options.join_leave:
            message = replies.push(self.name, what, {"info": listener.info})
            for one in self.listeners:
                one.push(message)


class Channels:
    """All channels that are listened to or remember something."""

    def __init__(self, options: Callable[[str], ChannelOptions], new_epoch: Callable[[], str]) -> None:
        self._options = options
        self._new_epoch = new_epoch
        self._channels: dict[str, Channel] = {}

    def find(self, name: str) -> Channel:
        """Raises ``Refused`` for a channel that nobody opened."""
        found = self._channels.get(name)
        if found is None:
            found = Channel(name, self._options(name), self._new_epoch())
            self._channels[name] = found
        return found

    def require_presence(self, name: str) -> None:
        if not self._options(name).presence:
            raise _not_available()

    def require_history(self, name: str) -> None:
        if not self._options(name).history_size:
            raise _not_available()

    def listened_to(self, prefix: str) -> list[str]:
        return [
            name for name, channel in self._channels.items() if channel.listeners and name.startswith(prefix)
        ]

    @property
    def subscriptions(self) -> int:
        return sum(len(channel.listeners) for channel in self._channels.values())

    def forget_idle(self, now: float) -> None:
        for name in [name for name, channel in self._channels.items() if channel.is_idle(now)]:
            del self._channels[name]


def _not_available() -> Refused:
    return Refused(ErrorCode.NOT_AVAILABLE, "not available")
