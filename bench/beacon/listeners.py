"""Many clients of one beacon in one process, that count what comes and do nothing else with it.

Arguments: the address, a token, a channel, how many. Prints ``ready`` once all of them listen. For each line
``COUNT`` on its input it waits for that many further deliveries, and prints the moment of the last of them;
``latency COUNT`` prints instead how long each of them took, and the end of the input ends it.
"""

import asyncio
import json
import re
import resource
import sys
import time
from collections.abc import Sequence
from typing import cast
from urllib.parse import urlsplit

import uvloop
from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.uri import parse_uri

MARK = b'"pub":'
PING = b"{}"  # nothing else that is sent here has it
PONG = Frame(Opcode.TEXT, b"{}").serialize(mask=True)
SENT_AT = re.compile(rb'"at":([0-9.e+-]+)')
OPENED_AT_ONCE = 50


class Counter:
    """Deliveries to all clients of this process."""

    def __init__(self) -> None:
        self.total = 0
        self.latencies: list[float] | None = None
        self.last_at = 0.0
        self._wanted = 0
        self._reached = asyncio.Event()

    def note(self, data: bytes, count: int) -> None:
        self.total += count
        if self.latencies is not None:
            now = time.monotonic()
            self.latencies += [now - float(at) for at in SENT_AT.findall(data)]
        if self.total >= self._wanted:
            self.last_at = time.monotonic()
            self._reached.set()

    async def wait_for(self, count: int) -> None:
        self._wanted += count
        if self.total < self._wanted:
            self._reached.clear()
            await self._reached.wait()


class Client(asyncio.Protocol):
    def __init__(self, url: str, commands: bytes, counter: Counter) -> None:
        self._wire = ClientProtocol(parse_uri(url), max_size=None)
        self._commands = commands
        self._counter = counter
        self._tail = b""
        self._is_open = False
        self.listens = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._wire.send_request(self._wire.connect())
        self._send()

    def data_received(self, data: bytes) -> None:
        if self.listens.is_set():
            self._count(data)
            return
        self._wire.receive_data(data)
        for event in self._wire.events_received():
            if isinstance(event, Frame) and b'"id":2' in bytes(event.data):
                self.listens.set()
            elif not self._is_open:
                self._is_open = True
                self._wire.send_text(self._commands)
        self._send()

    def _count(self, data: bytes) -> None:
        """Without a parser: what is measured is the beacon. A mark, or a ping, may lie in two reads."""
        seen = self._tail + data
        count = seen.count(MARK)
        if PING in self._tail[-1:] + data:
            self._transport.write(PONG)
        self._tail = seen[-(len(MARK) - 1) :]
        if count:
            self._counter.note(seen, count)

    def connection_lost(self, exc: Exception | None) -> None:
        """Whoever waits for deliveries would wait for ever."""
        sys.exit(f"a listener was disconnected: {exc or bytes(self._tail)!r}")

    def _send(self) -> None:
        for data in self._wire.data_to_send():
            self._transport.write(data)


async def listen(url: str, token: str, channel: str, count: int) -> None:
    counter = Counter()
    commands = b"\n".join(
        json.dumps(command).encode()
        for command in (
            {"id": 1, "connect": {"token": token}},
            {"id": 2, "subscribe": {"channel": channel}},
        )
    )
    where = urlsplit(url)
    loop = asyncio.get_running_loop()

    async def arrive() -> None:
        _, client = await loop.create_connection(
            lambda: Client(url, commands, counter), where.hostname or "", where.port or 80
        )
        await client.listens.wait()

    for first in range(0, count, OPENED_AT_ONCE):
        await asyncio.gather(*(arrive() for _ in range(min(OPENED_AT_ONCE, count - first))))
    say("ready")
    while words := (await loop.run_in_executor(None, sys.stdin.readline)).split():
        is_latency = words[0] == "latency"
        counter.latencies = [] if is_latency else None
        await counter.wait_for(int(words[-1]))
        say(json.dumps(summary(counter.latencies) if counter.latencies is not None else counter.last_at))


def summary(latencies: Sequence[float]) -> tuple[float, float]:
    """The median and the 99th of a hundred."""
    ordered = sorted(latencies)
    return ordered[len(ordered) // 2], ordered[len(ordered) * 99 // 100]


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    uvloop.run(listen(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))
