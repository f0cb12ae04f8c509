"""A wire between a client and a server that breaks when a test wants it to."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from urllib.parse import parse_qs, urlsplit, urlunsplit

BLOCK = 65536

Reach = Callable[[], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]
"""How the far end is reached."""


class Wire:
    """Passes bytes both ways, on any number of connections."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach
        self._is_cut = False
        self._fatal: bytes | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self.reply_lost = asyncio.Event()

    def lose_reply_about(self, text: bytes) -> None:
        """The first connection on which this text goes either way ends before the reply comes through:
        what was asked has happened by then, and nobody hears of it.
        """
        self._fatal = text
        self.reply_lost.clear()

    def cut(self) -> None:
        """End every connection, and refuse new ones until the wire is mended."""
        self._is_cut = True
        for writer in self._open:
            writer.transport.abort()

    def mend(self) -> None:
        self._is_cut = False

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_cut:
            writer.transport.abort()
            return
        server_reader, server_writer = await self._reach()
        doomed = asyncio.Event()
        both = {writer, server_writer}
        self._open |= both
        passing = {
            asyncio.create_task(self._pass_requests(reader, server_writer, doomed)),
            asyncio.create_task(self._pass_replies(server_reader, writer, doomed)),
        }
        try:
            await asyncio.wait(passing, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._open -= both
            for end in both:
                end.transport.abort()
            await asyncio.wait(passing)

    async def _pass_requests(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, doomed: asyncio.Event
    ) -> None:
        with suppress(OSError):
            while block := await reader.read(BLOCK):
                self._look_at(block, doomed)
                writer.write(block)
                await writer.drain()

    async def _pass_replies(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, doomed: asyncio.Event
    ) -> None:
        with suppress(OSError):
            while block := await reader.read(BLOCK):
                self._look_at(block, doomed)
                if doomed.is_set():
                    self.reply_lost.set()
                    return
                writer.write(block)
                await writer.drain()

    def _look_at(self, block: bytes, doomed: asyncio.Event) -> None:
        if self._fatal is not None and self._fatal in block:
            self._fatal = None
            doomed.set()


@asynccontextmanager
async def wire_to(database_url: str) -> AsyncIterator[tuple[Wire, str]]:
    """A wire to the PostgreSQL server of this URL, and the URL of its near end."""
    parts = urlsplit(database_url)
    folder = parse_qs(parts.query)["host"][0]
    port = parse_qs(parts.query).get("port", ["5432"])[0]
    socket = f"{folder}/.s.PGSQL.{port}"
    async with strung(partial(asyncio.open_unix_connection, socket)) as (wire, near):
        user = parts.netloc.rpartition("@")[0]
        netloc = f"{user}@127.0.0.1:{near}" if user else f"127.0.0.1:{near}"
        yield wire, urlunsplit((parts.scheme, netloc, parts.path, "sslmode=disable", ""))


@asynccontextmanager
async def wire_to_web(url: str) -> AsyncIterator[tuple[Wire, str]]:
    """A wire to the server at ``http://host:port``, and the URL of its near end."""
    parts = urlsplit(url)
    async with strung(partial(asyncio.open_connection, parts.hostname, parts.port)) as (wire, near):
        yield wire, f"http://127.0.0.1:{near}"


@asynccontextmanager
async def strung(reach: Reach) -> AsyncIterator[tuple[Wire, int]]:
    """A wire, and the port of its near end."""
    wire = Wire(reach)
    server = await asyncio.start_server(wire.carry, "127.0.0.1", 0)
    try:
        yield wire, server.sockets[0].getsockname()[1]
    finally:
        server.close()
        wire.cut()
