"""What one client listens to, what it waits to be let in to, and when it is asked again whether it may."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from shoal.beacon.hub import replies
from shoal.beacon.hub.channels import Channels, Listener
from shoal.beacon.hub.commands import Position, Subscribe
from shoal.beacon.hub.verdicts import Allowed
from shoal.beacon.model import ErrorCode, Refused

NEVER = float("inf")
EXPIRED = {"code": 2501, "reason": "subscription expired"}


class Subscriptions:
    __slots__ = ("_channels", "_ends_at", "_limit", "_listener", "_pending")

    def __init__(self, listener: Listener, channels: Channels, limit: int) -> None:
        self._listener = listener
        self._channels = channels
        self._limit = limit
        self._ends_at: dict[str, float] = {}
        """Each channel listened to, and when the gate is asked about it again."""
        self._pending: dict[str, list[int]] = {}
        """What is being decided, with the ids of those who want out of it already."""

    def __contains__(self, channel: object) -> bool:
        return channel in self._ends_at

    @property
    def next_end(self) -> float:
        return min(self._ends_at.values(), default=NEVER)

    def begin(self, request: Subscribe) -> None:
        """A client wants to listen; raises ``Refused`` where that needs no decision of the gate."""
        if request.type:
            raise Refused(ErrorCode.NOT_AVAILABLE, "not available")
        if request.channel in self._ends_at or request.channel in self._pending:
            raise Refused(ErrorCode.ALREADY_SUBSCRIBED, "already subscribed")
        if len(self._ends_at) + len(self._pending) >= self._limit:
            raise Refused(ErrorCode.LIMIT_EXCEEDED, "limit exceeded")
        if request.token:  # nobody issues tokens for channels: the gate decides
            raise Refused(ErrorCode.PERMISSION_DENIED, "permission denied")
        self._pending[request.channel] = []

    def enter(self, number: int, request: Subscribe, allowed: Allowed, now: float) -> None:
        channel = self._channels.find(request.channel)
        result = channel.result(request.position, now, flag=request.flag)
        if allowed.data is not None:
            result["data"] = allowed.data
        self._listener.push(replies.reply(number, "subscribe", result))
        self._ends_at[request.channel] = allowed.until(now)
        channel.enter(self._listener)

    def results(
        self, names: Iterable[str], positions: Mapping[str, Position], now: float
    ) -> dict[str, dict[str, Any]]:
        """What a connecting client is told of the channels that the server lets it in to."""
        return {
            name: self._channels.find(name).result(positions.get(name, Position()), now) for name in names
        }

    def enter_all(self, names: Iterable[str]) -> None:
        for name in names:
            self._ends_at[name] = NEVER
            self._channels.find(name).enter(self._listener)

    def settle(self, channel: str) -> None:
        """It is decided: whoever wanted out in the meantime leaves now."""
        for number in self._pending.pop(channel, ()):
            self.leave(number, channel)

    def leave(self, number: int, channel: str) -> None:
        if channel in self._pending:
            self._pending[channel].append(number)
            return
        self._drop(channel)
        self._listener.push(replies.reply(number, "unsubscribe", {}))

    def leave_all(self) -> None:
        for channel in list(self._ends_at):
            self._drop(channel)

    def take_ended(self, now: float) -> Sequence[str]:
        """Channels whose time is over. Each is told once, and stays until that is decided."""
        ended = [channel for channel, ends_at in self._ends_at.items() if ends_at <= now]
        for channel in ended:
            self._ends_at[channel] = NEVER
        return ended

    def renew(self, channel: str, allowed: Allowed, now: float) -> None:
        if channel in self._ends_at:
            self._ends_at[channel] = allowed.until(now)

    def expire(self, channel: str) -> None:
        if self._drop(channel):
            self._listener.push(replies.push(channel, "unsubscribe", EXPIRED))

    def _drop(self, channel: str) -> bool:
        is_there = self._ends_at.pop(channel, None) is not None
        if is_there:
            self._channels.find(channel).leave(self._listener)
        return is_there
