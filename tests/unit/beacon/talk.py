"""One client talking to a session without a network: frames in, replies out, the gate played by the test."""

import json
from typing import Any

from shoal.beacon.hub.channels import Channels
from shoal.beacon.hub.limits import Limits
from shoal.beacon.hub.session import Session
from shoal.beacon.hub.verdicts import Admitted, Allowed, Ask, Verdict
from shoal.beacon.model import ChannelOptions, Cut, ErrorCode, Identity, Refused

OPTIONS = {
    "jobs": ChannelOptions(history_size=3, history_ttl_s=60, recovery=True),
    "rooms": ChannelOptions(presence=True, join_leave=True),
    "plain": ChannelOptions(),
}


def options_of(channel: str) -> ChannelOptions:
    namespace = channel.partition(":")[0]
    if namespace not in OPTIONS:
        raise Refused(ErrorCode.UNKNOWN_CHANNEL, "unknown channel")
    return OPTIONS[namespace]


def new_channels() -> Channels:
    epochs = iter(range(1_000_000))
    return Channels(options_of, new_epoch=lambda: f"e{next(epochs)}")


class Talk:
    def __init__(
        self, channels: Channels | None = None, *, client: str = "c1", limits: Limits | None = None
    ) -> None:
        self.now = 1000.0
        self.channels = channels or new_channels()
        self.noticed = 0
        self.session = Session(
            client, self.channels, limits or Limits(), on_output=self._notice, now=self.now
        )

    def _notice(self, _: Session) -> None:
        self.noticed += 1

    def say(self, *commands: dict[str, Any]) -> list[dict[str, Any]]:
        return self.say_raw("\n".join(json.dumps(command) for command in commands).encode())

    def say_raw(self, frame: bytes) -> list[dict[str, Any]]:
        self.session.receive(frame)
        return self.heard()

    def heard(self) -> list[dict[str, Any]]:
        messages, self.session.outbox = self.session.outbox, []
        return [json.loads(message) for message in messages]

    def asked(self) -> list[Ask]:
        asks, self.session.asks = self.session.asks, []
        return asks

    def answer(self, ask: Ask, verdict: Verdict | Refused | Cut) -> list[dict[str, Any]]:
        self.session.answer(ask, verdict, self.now)
        return self.heard()

    def connect(
        self, *, user: str = "u1", ttl: float | None = None, channels: tuple[str, ...] = (), **asked: Any
    ) -> dict[str, Any]:
        self.say({"id": 1, "connect": {"token": "t", **asked}})
        [ask] = self.asked()
        identity = Identity(user, info={"name": user}, meta={"kind": "test"}, channels=channels)
        reply, *_ = self.answer(ask, Admitted(identity, ttl))
        assert reply["id"] == 1
        result: dict[str, Any] = reply["connect"]
        return result

    def ask(self, method: str, verdict: Verdict | Refused | Cut, /, **request: Any) -> dict[str, Any]:
        """Say one command, play the gate, and take the reply to it."""
        self.say({"id": 7, method: request})
        [ask] = self.asked()
        reply, *_ = self.answer(ask, verdict)
        assert reply["id"] == 7
        return reply

    def subscribe(self, channel: str, **request: Any) -> dict[str, Any]:
        result: dict[str, Any] = self.ask("subscribe", Allowed(), channel=channel, **request)["subscribe"]
        return result

    def pass_s(self, seconds: float) -> list[dict[str, Any]]:
        """Time goes by; the session is called when it wants to be."""
        until = self.now + seconds
        while self.session.due <= until:
            self.now = max(self.now, self.session.due)
            self.session.tick(self.now)
        self.now = until
        return self.heard()

    @property
    def end(self) -> int | None:
        return None if self.session.ended is None else self.session.ended.code
