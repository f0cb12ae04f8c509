"""The official clients, Python's and JavaScript's, behind one face: what they do and what they notice."""

import asyncio
import itertools
import json
import shutil
from abc import ABC, abstractmethod
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import centrifuge  # type: ignore[import-untyped]  # it has annotations and no py.typed
from centrifuge import Client, ClientEventHandler, StreamPosition, SubscriptionEventHandler

from tests.support.generations import absent

DEADLINE_S = 8.0
NODE = Path(__file__).parent / "node"

Event = Mapping[str, Any]


class CallFailed(Exception):
    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class Visitor(ABC):
    """One client. ``renew`` is where it gets a token when it needs another one."""

    def __init__(self, renew: Callable[[], str] | None) -> None:
        self.events: list[Event] = []
        self.renewals = 0
        self._renew = renew
        self._noticed = asyncio.Condition()

    async def connect(self) -> None:
        await self.start()
        await self.expect("connected")

    async def subscribe(self, channel: str) -> Event:
        await self.listen(channel)
        return await self.expect("subscribed", channel=channel)

    async def expect(self, event: str, **attributes: Any) -> Event:
        """The next event of this kind that has these attributes; what came before it is forgotten."""
        wanted = {"event": event, **attributes}
        async with asyncio.timeout(DEADLINE_S), self._noticed:
            while True:
                for number, found in enumerate(self.events):
                    if wanted.items() <= found.items():
                        del self.events[: number + 1]
                        return found
                await self._noticed.wait()

    async def publications(self, channel: str, count: int, *, prefix: str = "") -> list[Any]:
        return [(await self.expect(f"{prefix}publication", channel=channel))["data"] for _ in range(count)]

    def new_token(self) -> str:
        assert self._renew is not None
        self.renewals += 1
        return self._renew()

    async def notice(self, event: Event) -> None:
        async with self._noticed:
            self.events.append(event)
            self._noticed.notify_all()

    @abstractmethod
    async def start(self) -> None:
        """Begin to connect."""

    @abstractmethod
    async def disconnect(self) -> None: ...

    @abstractmethod
    async def listen(self, channel: str) -> None:
        """Begin to subscribe."""

    @abstractmethod
    async def unsubscribe(self, channel: str) -> None: ...

    @abstractmethod
    async def publish(self, channel: str, data: Any) -> None: ...

    @abstractmethod
    async def rpc(self, method: str, data: Any = None) -> Any: ...

    @abstractmethod
    async def presence(self, channel: str) -> list[str]:
        """The users, in order."""

    @abstractmethod
    async def presence_stats(self, channel: str) -> tuple[int, int]:
        """Clients and users."""

    @abstractmethod
    async def history(self, channel: str, **asked: Any) -> Mapping[str, Any]:
        """``data`` of the publications, and ``offset`` and ``epoch`` of the stream."""


class PythonVisitor(Visitor):
    def __init__(self, url: str, token: str, renew: Callable[[], str] | None) -> None:
        super().__init__(renew)

        async def get_token() -> str:
            return self.new_token()

        self._client = Client(
            url,
            _Notices(self),
            token=token,
            get_token=get_token if renew else None,
            min_reconnect_delay=0.02,
            max_reconnect_delay=0.1,
            proxy=None,
        )

    async def start(self) -> None:
        await self._client.connect()

    async def disconnect(self) -> None:
        await self._client.disconnect()

    async def listen(self, channel: str) -> None:
        found = self._client.get_subscription(channel)
        if found is None:
            found = self._client.new_subscription(channel, _SubscriptionNotices(self, channel))
        await found.subscribe()

    async def unsubscribe(self, channel: str) -> None:
        found = self._client.get_subscription(channel)
        assert found is not None
        await found.unsubscribe()

    async def publish(self, channel: str, data: Any) -> None:
        await _called(self._client.publish(channel, data))

    async def rpc(self, method: str, data: Any = None) -> Any:
        return (await _called(self._client.rpc(method, data))).data

    async def presence(self, channel: str) -> list[str]:
        found = await _called(self._client.presence(channel))
        return sorted(info.user for info in found.clients.values())

    async def presence_stats(self, channel: str) -> tuple[int, int]:
        found = await _called(self._client.presence_stats(channel))
        return found.num_clients, found.num_users

    async def history(self, channel: str, **asked: Any) -> Mapping[str, Any]:
        if since := asked.pop("since", None):
            asked["since"] = StreamPosition(**since)
        found = await _called(self._client.history(channel, **asked))
        return {
            "data": [one.data for one in found.publications],
            "offset": found.offset,
            "epoch": found.epoch,
        }


async def _called(call: Any) -> Any:
    try:
        return await call
    except centrifuge.ReplyError as error:
        raise CallFailed(error.code, str(error)) from None


class _Notices(ClientEventHandler):  # type: ignore[misc]  # untyped, as said
    def __init__(self, visitor: Visitor) -> None:
        self._visitor = visitor

    async def on_connecting(self, ctx: Any) -> None:
        await self._visitor.notice({"event": "connecting", "code": ctx.code})

    async def on_connected(self, ctx: Any) -> None:  # noqa: ARG002 - the client's contract
        await self._visitor.notice({"event": "connected"})

    async def on_disconnected(self, ctx: Any) -> None:
        await self._visitor.notice({"event": "disconnected", "code": ctx.code})

    async def on_error(self, ctx: Any) -> None:
        await self._visitor.notice({"event": "error", "code": ctx.code})

    async def on_subscribed(self, ctx: Any) -> None:
        event = {"event": "server_subscribed", "channel": ctx.channel, "recovered": ctx.recovered}
        await self._visitor.notice(event)

    async def on_publication(self, ctx: Any) -> None:
        event = {"event": "server_publication", "channel": ctx.channel, "data": ctx.pub.data}
        await self._visitor.notice(event)


class _SubscriptionNotices(SubscriptionEventHandler):  # type: ignore[misc]  # untyped, as said
    def __init__(self, visitor: Visitor, channel: str) -> None:
        self._visitor = visitor
        self._channel = channel

    async def _tell(self, event: str, **attributes: Any) -> None:
        await self._visitor.notice({"event": event, "channel": self._channel, **attributes})

    async def on_subscribed(self, ctx: Any) -> None:
        await self._tell("subscribed", recovered=ctx.recovered, data=ctx.data)

    async def on_unsubscribed(self, ctx: Any) -> None:
        await self._tell("unsubscribed", code=ctx.code)

    async def on_publication(self, ctx: Any) -> None:
        await self._tell("publication", data=ctx.pub.data)

    async def on_join(self, ctx: Any) -> None:
        await self._tell("join", user=ctx.info.user)

    async def on_leave(self, ctx: Any) -> None:
        await self._tell("leave", user=ctx.info.user)


class NodeProcess:
    """One Node in which all JavaScript clients of a test run live."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._calls: dict[int, asyncio.Future[Any]] = {}
        self._numbers = itertools.count(1)
        self._visitors: dict[str, Visitor] = {}
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def start(cls) -> "NodeProcess":
        node = shutil.which("node")
        if node is None:
            raise absent("node", "it is not on PATH")
        if not (NODE / "node_modules" / "centrifuge").is_dir():
            raise absent("the JavaScript client", "tests/prepare installs it with npm")
        return cls(
            await asyncio.create_subprocess_exec(
                node, str(NODE / "driver.mjs"), stdin=PIPE, stdout=PIPE, limit=2**24
            )
        )

    async def stop(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        await self._process.wait()
        await self._reading

    async def call(self, name: str, step: str, **given: Any) -> Any:
        number = next(self._numbers)
        answer = self._calls[number] = asyncio.get_running_loop().create_future()
        self._say({"call": number, "client": name, "do": step, **given})
        async with asyncio.timeout(DEADLINE_S):
            return await answer

    def admit(self, visitor: Visitor) -> str:
        name = f"visitor {next(self._numbers)}"
        self._visitors[name] = visitor
        return name

    def _say(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")

    async def _read(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            message = json.loads(line)
            if "client" not in message:
                answer = self._calls.pop(message["call"])
                if error := message.get("error"):
                    answer.set_exception(CallFailed(error["code"], error["message"]))
                else:
                    answer.set_result(message["result"])
                continue
            visitor = self._visitors[message.pop("client")]
            if message["event"] == "token":
                self._say({"number": message["number"], "token": visitor.new_token()})
            else:
                await visitor.notice(message)


class NodeVisitor(Visitor):
    def __init__(self, node: NodeProcess, url: str, token: str, renew: Callable[[], str] | None) -> None:
        super().__init__(renew)
        self._node = node
        self._name = node.admit(self)
        self._given = {"url": url, "token": token, "renews": renew is not None}
        self._is_open = False

    async def start(self) -> None:
        if not self._is_open:
            await self._call("open", **self._given)
            self._is_open = True
        await self._call("connect")

    async def disconnect(self) -> None:
        await self._call("disconnect")

    async def listen(self, channel: str) -> None:
        await self._call("subscribe", channel=channel)

    async def unsubscribe(self, channel: str) -> None:
        await self._call("unsubscribe", channel=channel)

    async def publish(self, channel: str, data: Any) -> None:
        await self._call("publish", channel=channel, data=data)

    async def rpc(self, method: str, data: Any = None) -> Any:
        return await self._call("rpc", method=method, data=data)

    async def presence(self, channel: str) -> list[str]:
        found: list[str] = await self._call("presence", channel=channel)
        return found

    async def presence_stats(self, channel: str) -> tuple[int, int]:
        clients, users = await self._call("presence_stats", channel=channel)
        return clients, users

    async def history(self, channel: str, **asked: Any) -> Mapping[str, Any]:
        found: Mapping[str, Any] = await self._call("history", channel=channel, asked=asked)
        return found

    async def _call(self, step: str, **given: Any) -> Any:
        return await self._node.call(self._name, step, **given)
