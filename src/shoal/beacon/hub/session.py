"""One client as a state machine: frames and verdicts come in; messages, questions and an end come out.

It does no I/O. What it wants to say gathers in ``outbox``, what only the gate can decide in ``asks``; the hub
sends the one and answers the other. ``ended`` says why the connection is over.
"""

from collections import deque
from collections.abc import Callable, Mapping
from enum import Enum, auto
from importlib.metadata import version
from typing import Any
from zlib import crc32

from shoal.beacon.hub import replies
from shoal.beacon.hub.channels import Channels
from shoal.beacon.hub.commands import (
    Command,
    Connect,
    History,
    Presence,
    PresenceStats,
    Publish,
    Refresh,
    Request,
    Rpc,
    Send,
    SubRefresh,
    Subscribe,
    Unreadable,
    Unsubscribe,
    read_frame,
)
from shoal.beacon.hub.limits import LONGEST_CHANNEL, Limits
from shoal.beacon.hub.subscriptions import NEVER, Subscriptions
from shoal.beacon.hub.verdicts import Admitted, Allowed, Answered, Ask, Renewed, Verdict
from shoal.beacon.model import Cut, DisconnectCode, ErrorCode, Identity, Peer, Refused

VERSION = f"shoal {version('shoal')}"


class Phase(Enum):
    NEW = auto()
    CONNECTING = auto()
    REFUSED = auto()
    """Connecting ended with an error; the client is expected to leave and to come back."""
    CONNECTED = auto()


class Session:
    __slots__ = (
        "_channels",
        "_ends_at",
        "_identity",
        "_limits",
        "_on_output",
        "_phase",
        "_ping_at",
        "_pong_by",
        "_subscriptions",
        "_under_way",
        "_waiting",
        "asks",
        "client",
        "due",
        "ended",
        "outbox",
        "user",
    )

    def __init__(
        self,
        client: str,
        channels: Channels,
        limits: Limits,
        *,
        on_output: Callable[["Session"], None],
        now: float,
    ) -> None:
        self.client = client
        self.user = ""
        self.outbox: list[bytes] = []
        self.asks: list[Ask] = []
        self.ended: Cut | None = None
        self.due = now + limits.stale_s
        """When ``tick`` has something to do, if nothing comes in before."""
        self._channels = channels
        self._limits = limits
        self._on_output = on_output
        self._phase = Phase.NEW
        self._identity: Identity | None = None
        self._ends_at = NEVER
        self._ping_at = NEVER
        self._pong_by = NEVER
        self._subscriptions = Subscriptions(self, channels, limits.channels)
        self._waiting: deque[Command] | None = None
        self._under_way = 0

    @property
    def info(self) -> Mapping[str, Any]:
        """What others are shown of this client."""
        info = self._identity.info if self._identity else None
        shown = {"user": self.user, "client": self.client}
        return shown if info is None else {**shown, "conn_info": info}

    @property
    def peer(self) -> Peer:
        return Peer(self.client, self.user, self._identity.meta if self._identity else {})

    @property
    def is_busy(self) -> bool:
        """Whether it has more commands than it may have under way; nothing more should be read."""
        return bool(self._waiting)

    def push(self, message: bytes) -> None:
        if self.ended is None:
            if not self.outbox:
                self._on_output(self)
            self.outbox.append(message)

    def receive(self, frame: bytes) -> None:
        if self.ended is not None:
            return
        try:
            commands = read_frame(frame)
        except Unreadable:
            self.end(DisconnectCode.BAD_REQUEST, "bad request")
            return
        for command in commands:
            if command.is_pong:
                self._take_pong()
            elif self._waiting is None:
                self._waiting = deque([command])
            else:
                self._waiting.append(command)
        self._proceed()

    def answer(self, ask: Ask, verdict: Verdict | Refused | Cut, now: float) -> None:
        """What was decided about something in ``asks``."""
        if self.ended is not None:
            return
        self._under_way -= 1
        try:
            if isinstance(verdict, Refused | Cut):
                raise verdict
            self._apply(ask, verdict, now)
        except Refused as refused:
            self._refuse(ask, refused)
        except Cut as cut:
            self.end(cut.code, cut.reason)
        if isinstance(ask.request, Subscribe) and not ask.is_renewal:
            self._subscriptions.settle(ask.request.channel)
        self._reckon()
        self._proceed()

    def tick(self, now: float) -> None:
        """To be called when ``due`` has come."""
        if self.ended is not None:
            return
        if self._phase is not Phase.CONNECTED:
            self.end(DisconnectCode.STALE, "stale")
        elif now >= self._pong_by and not self.is_busy:
            self.end(DisconnectCode.NO_PONG, "no pong")
        elif now >= self._ends_at:
            self.end(DisconnectCode.EXPIRED, "connection expired")
        else:
            if now >= self._pong_by:  # the answer may be there: nothing is read while it is busy
                self._pong_by = now + self._limits.pong_timeout_s
            if now >= self._ping_at:
                self.push(replies.PING)
                self._ping_at = now + self._limits.ping_interval_s
                self._pong_by = now + self._limits.pong_timeout_s
            for channel in self._subscriptions.take_ended(now):
                self._ask(0, Subscribe(channel))
            self._reckon()

    def end(self, code: int, reason: str) -> None:
        """Nothing is said or decided from here on, except what ``outbox`` already holds."""
        if self.ended is not None:
            return
        self._on_output(self)
        self.ended = Cut(code, reason)
        self.due = NEVER
        self._waiting = None
        self.asks = []
        self._subscriptions.leave_all()

    def _take_pong(self) -> None:
        if self._pong_by == NEVER:
            self.end(DisconnectCode.BAD_REQUEST, "bad request")
        else:
            self._pong_by = NEVER
            self._reckon()

    def _proceed(self) -> None:
        """Take what waits, in order, up to the number that may be under way; none beside a connect."""
        while self._waiting and self.ended is None and self._phase is not Phase.CONNECTING:
            if self._under_way >= self._limits.commands_under_way:
                return
            command = self._waiting.popleft()
            try:
                self._take(command)
            except Refused as refused:
                self.push(replies.refusal(command.id, refused))
            except Cut as cut:
                self.end(cut.code, cut.reason)
        if not self._waiting:
            self._waiting = None  # most clients are silent most of the time

    def _take(self, command: Command) -> None:
        request = command.request
        expected = Phase.NEW if isinstance(request, Connect) else Phase.CONNECTED
        if request is None or self._phase is not expected:
            raise _bad_request()
        match request:
            case Send():
                raise Cut(DisconnectCode.NOT_AVAILABLE, "not available")
            case Connect(token="") | Refresh(token=""):
                raise _bad_request()
            case Connect():
                self._phase = Phase.CONNECTING
            case Unsubscribe():
                _check_channel(request.channel)
                self._subscriptions.leave(command.id, request.channel)
                return
            case Subscribe() | Publish() | Presence() | PresenceStats() | History() | SubRefresh():
                _check_channel(request.channel)
                self._check(request)
        self._ask(command.id, request)

    def _check(self, request: Request) -> None:
        """What needs no decision of the gate to be refused."""
        match request:
            case Subscribe():
                self._subscriptions.begin(request)
            case Presence() | PresenceStats():
                self._channels.require_presence(request.channel)
            case History():
                self._channels.require_history(request.channel)
            case SubRefresh():
                self._refuse_renewal(request.channel)

    def _refuse_renewal(self, channel: str) -> None:
        """A subscription that ends is renewed by asking the gate, not by the client."""
        if channel in self._subscriptions:
            raise _bad_request()
        raise Refused(ErrorCode.PERMISSION_DENIED, "permission denied")

    def _ask(self, number: int, request: Request) -> None:
        self._under_way += 1
        self._on_output(self)
        self.asks.append(Ask(number, request))

    def _apply(self, ask: Ask, verdict: Verdict, now: float) -> None:
        match ask.request, verdict:
            case Connect() as request, Admitted():
                self._connect(ask.number, request, verdict, now)
            case Subscribe(channel=channel), Allowed() if ask.is_renewal:
                self._subscriptions.renew(channel, verdict, now)
            case Subscribe() as request, Allowed():
                self._subscriptions.enter(ask.number, request, verdict, now)
            case Refresh(), Renewed():
                self._renew(ask.number, verdict, now)
            case Rpc(), Answered(data=data):
                self._reply(ask, "rpc", {} if data is None else {"data": data})
            case Publish(), Allowed():
                self._reply(ask, "publish", {})
            case Presence(channel=channel), Allowed():
                self._reply(ask, "presence", {"presence": self._channels.find(channel).presence()})
            case PresenceStats(channel=channel), Allowed():
                self._reply(ask, "presence_stats", self._channels.find(channel).presence_stats())
            case History(channel=channel) as request, Allowed():
                self._reply(ask, "history", self._channels.find(channel).history(request, now))
            case _:
                raise TypeError(f"{verdict} does not answer {ask}")

    def _refuse(self, ask: Ask, refused: Refused) -> None:
        match ask.request:
            case Connect():
                self._phase = Phase.REFUSED
                self._waiting = None
            case Subscribe(channel=channel) if ask.is_renewal:
                self._subscriptions.expire(channel)
                return
        self.push(replies.refusal(ask.number, refused))

    def _connect(self, number: int, request: Connect, admitted: Admitted, now: float) -> None:
        channels = tuple(dict.fromkeys(admitted.identity.channels))
        if len(channels) > self._limits.channels:
            raise Cut(DisconnectCode.CHANNEL_LIMIT, "channel limit")
        result: dict[str, Any] = {
            "client": self.client,
            "version": VERSION,
            "ping": max(1, round(self._limits.ping_interval_s)),
            "pong": True,
            **self._expiry(admitted.ttl, now),
        }
        if channels:
            result["subs"] = self._subscriptions.results(channels, request.subs, now)
        self._phase = Phase.CONNECTED
        self._identity = admitted.identity
        self.user = admitted.identity.user
        self._ping_at = now + self._limits.ping_interval_s * _spread(self.client)
        self.push(replies.reply(number, "connect", result))
        self._subscriptions.enter_all(channels)

    def _renew(self, number: int, renewed: Renewed, now: float) -> None:
        """A connection stays with its user; what the token says of them may have changed."""
        if renewed.identity.user != self.user:
            raise Cut(DisconnectCode.INVALID_TOKEN, "invalid token")
        self._identity = renewed.identity
        self.push(replies.reply(number, "refresh", self._expiry(renewed.ttl, now) or {"expires": False}))

    def _expiry(self, ttl: float | None, now: float) -> dict[str, Any]:
        if ttl is None:
            self._ends_at = NEVER
            return {}
        self._ends_at = now + ttl + self._limits.expired_grace_s
        return {"expires": True, "ttl": max(1, round(ttl))}

    def _reply(self, ask: Ask, method: str, result: Mapping[str, Any]) -> None:
        self.push(replies.reply(ask.number, method, result))

    def _reckon(self) -> None:
        if self._phase is Phase.CONNECTED and self.ended is None:
            self.due = min(self._ping_at, self._pong_by, self._ends_at, self._subscriptions.next_end)


def _check_channel(name: str) -> None:
    if not name:
        raise _bad_request()
    if len(name) > LONGEST_CHANNEL or not name.isascii():
        raise Refused(ErrorCode.BAD_REQUEST, "bad request")


def _bad_request() -> Cut:
    return Cut(DisconnectCode.BAD_REQUEST, "bad request")


def _spread(client: str) -> float:
    """From a half to one, the same for the same client, so that the pings of many do not meet."""
    return 0.5 + (crc32(client.encode()) % 1024) / 2048
