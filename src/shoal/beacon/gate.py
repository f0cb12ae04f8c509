"""The gate: who may connect, hear and say what. One set of decisions for both beacons, closed by default.

Rooms open channels and methods at start-up; whatever was not opened is refused.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from shoal.beacon.model import (
    ChannelOptions,
    Cut,
    DisconnectCode,
    ErrorCode,
    Identity,
    Peer,
    Refused,
    Subscribed,
)

Admission = Callable[[str, Mapping[str, Any]], Awaitable[bool]]
"""(user, meta) → whether they may be here at all, now: not revoked, still existing."""

MaySubscribe = Callable[[Peer, str, Any], Awaitable[Subscribed]]
"""(peer, rest of the channel after ``namespace:``, data) → allowed; refusals are raised."""

OnPublish = Callable[[Peer, str, Any], Awaitable[None]]
"""(peer, rest of the channel, data): take what was published; refusals are raised."""

MayLook = Callable[[Peer, str], Awaitable[None]]
"""(peer, rest of the channel): raise when the peer may not ask for presence (or history)."""

OnCall = Callable[[Peer, Any], Awaitable[Any]]
"""(peer, data) → the data of the reply."""


@dataclass(frozen=True, slots=True)
class Channel:
    """What may be done with the channels of one namespace; what is None, nobody may."""

    options: ChannelOptions = field(default_factory=ChannelOptions)
    subscribe: MaySubscribe | None = None
    publish: OnPublish | None = None
    presence: MayLook | None = None
    history: MayLook | None = None


class Gate:
    """``connect``, ``subscribe``, ``publish``, ``refresh`` and ``call`` raise ``Refused`` or ``Cut``."""

    def __init__(self) -> None:
        self.namespaces: dict[str, Channel] = {}
        self._methods: dict[str, OnCall] = {}
        self._admissions: dict[str, Admission] = {}

    def open(self, namespace: str, channel: Channel) -> None:
        """The channels ``namespace:…``."""
        self.namespaces[namespace] = channel

    def answer(self, method: str, handler: OnCall) -> None:
        """The RPC of this name."""
        self._methods[method] = handler

    def admit(self, kind: str, admission: Admission) -> None:
        """Ask this before anything a peer of this kind does. A kind nobody admits stays outside."""
        self._admissions[kind] = admission

    async def connect(self, identity: Identity) -> None:
        """A token was valid; is its bearer still welcome?"""
        if not await self._is_admitted(identity.user, identity.meta):
            raise Cut(DisconnectCode.AUTHENTICATION_FAILED, "not welcome")

    async def refresh(self, peer: Peer) -> None:
        await self._require_admitted(peer)

    async def subscribe(self, peer: Peer, channel: str, data: Any = None) -> Subscribed:
        await self._require_admitted(peer)
        opened, rest = self._find(channel)
        if opened.subscribe is None:
            raise Refused(ErrorCode.PERMISSION_DENIED, "permission denied")
        return await opened.subscribe(peer, rest, data)

    async def publish(self, peer: Peer, channel: str, data: Any) -> None:
        """Take what a peer publishes. It goes to whoever handles the channel and to no subscriber."""
        await self._require_admitted(peer)
        opened, rest = self._find(channel)
        if opened.publish is None:
            raise Refused(ErrorCode.PERMISSION_DENIED, "permission denied")
        await opened.publish(peer, rest, data)

    async def may_see_presence(self, peer: Peer, channel: str) -> None:
        await self._require_admitted(peer)
        opened, rest = self._find(channel)
        if opened.presence is None:
            raise Refused(ErrorCode.PERMISSION_DENIED, "permission denied")
        await opened.presence(peer, rest)

    async def may_see_history(self, peer: Peer, channel: str) -> None:
        await self._require_admitted(peer)
        opened, rest = self._find(channel)
        if opened.history is None:
            raise Refused(ErrorCode.PERMISSION_DENIED, "permission denied")
        await opened.history(peer, rest)

    async def call(self, peer: Peer, method: str, data: Any) -> Any:
        await self._require_admitted(peer)
        handler = self._methods.get(method)
        if handler is None:
            raise Refused(ErrorCode.METHOD_NOT_FOUND, "method not found")
        return await handler(peer, data)

    def options(self, channel: str) -> ChannelOptions:
        return self._find(channel)[0].options

    def _find(self, channel: str) -> tuple[Channel, str]:
        namespace, colon, rest = channel.partition(":")
        opened = self.namespaces.get(namespace) if colon and rest else None
        if opened is None:
            raise Refused(ErrorCode.UNKNOWN_CHANNEL, "unknown channel")
        return opened, rest

    async def _require_admitted(self, peer: Peer) -> None:
        if not await self._is_admitted(peer.user, peer.meta):
            raise Cut(DisconnectCode.AUTHENTICATION_FAILED, "not welcome")

    async def _is_admitted(self, user: str, meta: Mapping[str, Any]) -> bool:
        admission = self._admissions.get(str(meta.get("kind", "")))
        return bool(user) and admission is not None and await admission(user, meta)
