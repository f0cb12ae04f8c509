"""The hub: where sessions meet sockets, the gate and the clock. The only file here that touches the loop."""

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Protocol
from uuid import uuid4

import structlog

from shoal.beacon.gate import Gate
from shoal.beacon.hub import replies
from shoal.beacon.hub.channels import Channels
from shoal.beacon.hub.commands import (
    Connect,
    History,
    Presence,
    PresenceStats,
    Publish,
    Refresh,
    Rpc,
    Subscribe,
)
from shoal.beacon.hub.frames import text_frame
from shoal.beacon.hub.limits import Limits
from shoal.beacon.hub.session import Session
from shoal.beacon.hub.verdicts import Admitted, Allowed, Answered, Ask, Renewed, Verdict
from shoal.beacon.model import Cut, DisconnectCode, ErrorCode, Refused
from shoal.beacon.tokens import ConnectionTokens
from shoal.runtime.clock import Clock
from shoal.runtime.errors import Unavailable
from shoal.runtime.lifecycle import Part

log = structlog.get_logger(__name__)

TICK_S = 0.2
FORGET_EVERY_S = 10.0
LARGEST_BURST = 64 * 1024
"""Bytes published in one turn of the event loop, after which the sockets get one."""


class Socket(Protocol):
    """What carries the messages of one client."""

    def write(self, frame: bytes) -> int:
        """Bytes that wait for the client to read."""

    def hold(self, *, held: bool) -> None:
        """Stop reading, or go on."""

    def close(self, code: int, reason: str) -> None: ...


class Hub(Part):
    """A ``Beacon`` for the clients of this process."""

    name = "beacon"

    def __init__(
        self, gate: Gate, tokens: ConnectionTokens, clock: Clock, *, limits: Limits | None = None
    ) -> None:
        self._gate = gate
        self._tokens = tokens
        self._clock = clock
        self.limits = limits or Limits()
        self._channels = Channels(gate.options, new_epoch=lambda: secrets.token_hex(4))
        self._sockets: dict[Session, Socket] = {}
        self._active: dict[Session, None] = {}
        """Those with something to say, to ask, or at their end."""
        self._deciding: set[asyncio.Task[None]] = set()
        self._burst = 0
        self._stopping = asyncio.Event()
        self.published = 0
        """Messages that channels took, since the start."""

    @property
    def connections(self) -> int:
        return len(self._sockets)

    @property
    def subscriptions(self) -> int:
        return self._channels.subscriptions

    async def run(self) -> None:
        forget_at = 0.0
        while not self._stopping.is_set():
            now = self._clock.monotonic()
            for session in [one for one in self._sockets if one.due <= now]:
                session.tick(now)
            if now >= forget_at:
                self._channels.forget_idle(now)
                forget_at = now + FORGET_EVERY_S
            try:
                async with asyncio.timeout(TICK_S):
                    await self._stopping.wait()
            except TimeoutError:
                continue

    async def stop(self) -> None:
        self._stopping.set()
        for session in list(self._sockets):
            session.end(DisconnectCode.SHUTDOWN, "shutdown")
        if self._deciding:
            await asyncio.wait(self._deciding)

    async def publish(self, channel: str, data: Any) -> bool:
        try:
            found = self._channels.find(channel)
        except Refused as refused:
            log.warning("nothing was published", channel=channel, why=refused.message)
            return False
        self.published += 1
        self._burst += found.publish(replies.encode(data), self._clock.monotonic())
        if self._burst >= LARGEST_BURST:
            self._burst = 0
            await asyncio.sleep(0)
        return True

    async def publish_many(self, messages: Sequence[tuple[str, Any]]) -> bool:
        return all([await self.publish(channel, data) for channel, data in messages])

    async def disconnect(self, user: str, code: DisconnectCode, reason: str) -> None:
        for session in [one for one in self._sockets if one.user == user]:
            session.end(code, reason)

    async def presence(self, channel: str) -> Mapping[str, str]:
        return {one.client: one.user for one in self._channels.find(channel).listeners}

    async def active(self, namespace: str) -> Sequence[str]:
        return self._channels.listened_to(f"{namespace}:")

    async def check(self) -> None:
        """It is part of this process: it answers."""

    def welcome(self, socket: Socket) -> Session:
        """A socket is open; what comes in goes to ``receive``, until ``forget``."""
        session = Session(
            str(uuid4()),
            self._channels,
            self.limits,
            on_output=self._activate,
            now=self._clock.monotonic(),
        )
        self._sockets[session] = socket
        if self._stopping.is_set():
            session.end(DisconnectCode.SHUTDOWN, "shutdown")
        return session

    def receive(self, session: Session, frame: bytes) -> None:
        session.receive(frame)
        if session.is_busy and (socket := self._sockets.get(session)) is not None:
            socket.hold(held=True)

    def forget(self, session: Session) -> None:
        """The socket is gone."""
        session.end(DisconnectCode.CLOSED, "connection closed")
        self._sockets.pop(session, None)

    def _activate(self, session: Session) -> None:
        if not self._active:
            asyncio.get_running_loop().call_soon(self._flush)
        self._active[session] = None

    def _flush(self) -> None:
        """Each client gets one frame with all that was said in this turn of the loop"""
        active, self._active = self._active, {}
        frames: dict[tuple[bytes, ...], bytes] = {}
        for session in active:
            socket = self._sockets.get(session)
            if socket is None:
                continue
            if session.outbox:
                messages = tuple(session.outbox)
                session.outbox = []
                frame = frames.get(messages)  # a message to many is put into a frame once
                if frame is None:
                    frame = frames[messages] = text_frame(messages)
                if socket.write(frame) > self.limits.queue_bytes:
                    session.end(DisconnectCode.SLOW, "slow")
            if session.ended is not None:
                del self._sockets[session]
                socket.close(session.ended.code, session.ended.reason)
            elif session.asks:
                asks, session.asks = session.asks, []
                for ask in asks:
                    task = asyncio.create_task(self._decide(session, ask))
                    self._deciding.add(task)
                    task.add_done_callback(self._deciding.discard)

    async def _decide(self, session: Session, ask: Ask) -> None:
        verdict: Verdict | Refused | Cut
        try:
            verdict = await self._ask_gate(session, ask)
        except (Refused, Cut) as refused:
            verdict = refused
        except Unavailable as error:
            log.warning("a handler cannot answer now", code=error.code, user=session.user)
            verdict = Refused(ErrorCode.INTERNAL, "internal server error", temporary=True)
        except Exception:
            log.exception("a handler failed", request=type(ask.request).__name__, user=session.user)
            verdict = Refused(ErrorCode.INTERNAL, "internal server error", temporary=True)
        session.answer(ask, verdict, self._clock.monotonic())
        if not session.is_busy and (socket := self._sockets.get(session)) is not None:
            socket.hold(held=False)

    async def _ask_gate(self, session: Session, ask: Ask) -> Verdict:
        peer = session.peer
        match ask.request:
            case Connect(token=token):
                identity = self._tokens.verify(token)
                await self._gate.connect(identity)
                return Admitted(identity, self._ttl(identity.expires_at))
            case Refresh(token=token):
                try:
                    identity = self._tokens.verify(token)
                except Refused:
                    # The client would end for good at an error; after this it comes back for a new token.
                    raise Cut(DisconnectCode.EXPIRED, "connection expired") from None
                await self._gate.refresh(peer)
                return Renewed(identity, self._ttl(identity.expires_at))
            case Subscribe(channel=channel, data=data):
                subscribed = await self._gate.subscribe(peer, channel, data)
                return Allowed(self._ttl(subscribed.expires_at), subscribed.data)
            case Publish(channel=channel, data=data):
                await self._gate.publish(peer, channel, data)
            case Presence(channel=channel) | PresenceStats(channel=channel):
                await self._gate.may_see_presence(peer, channel)
            case History(channel=channel):
                await self._gate.may_see_history(peer, channel)
            case Rpc(method=method, data=data):
                return Answered(await self._gate.call(peer, method, data))
        return Allowed()

    def _ttl(self, expires_at: int | None) -> float | None:
        if expires_at is None:
            return None
        ttl = expires_at - self._clock.now().timestamp()
        if ttl <= 0:
            raise Refused(ErrorCode.EXPIRED, "expired")
        return ttl
