"""A websocket without a client library around it: to say what no proper client says."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from shoal.beacon.model import DisconnectCode

DEADLINE_S = 8.0
NO_CLOSE = 1006
PING = "{}"


class RawClient:
    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._heard: list[dict[str, Any]] = []

    @classmethod
    async def open(cls, url: str, **options: Any) -> "RawClient":
        settings = {"proxy": None, "compression": None, "ping_interval": None, "max_size": None}
        return cls(await connect(url, **{**settings, **options}))

    async def say(self, *commands: Mapping[str, Any]) -> None:
        await self.send("\n".join(json.dumps(command) for command in commands))

    async def send(self, frame: str | bytes) -> None:
        with suppress(ConnectionClosed):  # why, says ``ended``
            await self._socket.send(frame)

    async def send_fragments(self, parts: Sequence[str]) -> None:
        with suppress(ConnectionClosed):  # why, says ``ended``
            await self._socket.send(parts)

    def stop_reading(self) -> None:
        self._socket.transport.pause_reading()

    async def is_cut(self) -> bool:
        """Whether the other side is gone, for a client that has not read."""
        self._socket.transport.resume_reading()
        return await self.ended() in (DisconnectCode.SLOW, DisconnectCode.WRITE_ERROR, NO_CLOSE)

    async def hear(self, *, deadline_s: float = DEADLINE_S) -> dict[str, Any]:
        """The next message, be it alone in its frame or not. Pings come at any time, and are answered."""
        async with asyncio.timeout(deadline_s):
            while True:
                if not self._heard:
                    frame = await self._socket.recv()
                    self._heard += [json.loads(line) for line in str(frame).split("\n")]
                if message := self._heard.pop(0):
                    return message
                await self.send(PING)

    async def connect(self, token: str) -> dict[str, Any]:
        await self.say({"id": 1, "connect": {"token": token}})
        reply = await self.hear()
        result: dict[str, Any] = reply["connect"]
        return result

    async def ended(self, *, answers_pings: bool = True) -> int:
        """Read to the end; the code of the end."""
        async with asyncio.timeout(DEADLINE_S):
            try:
                while True:
                    frame = await self._socket.recv()
                    if answers_pings and PING in str(frame).split("\n"):
                        await self._socket.send(PING)
            except ConnectionClosed as closed:
                return closed.rcvd.code if closed.rcvd else NO_CLOSE

    async def close(self) -> None:
        self._socket.transport.abort()
        await self._socket.wait_closed()
