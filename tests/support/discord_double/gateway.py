"""The gateway: sessions, heartbeats, events in order, resuming, members in chunks, and its close codes."""

import asyncio
import json
import time
import zlib
from collections import Counter, deque
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from aiohttp import WSMsgType, web

from .payloads import APPLICATION, BOT, Json, application, member, new_id, user
from .world import (
    CHUNK,
    MEMBERS_INTENT,
    MESSAGE_CONTENT_INTENT,
    PRESENCES_INTENT,
    World,
)

DISPATCH, HEARTBEAT, IDENTIFY, PRESENCE, RESUME, RECONNECT, REQUEST_MEMBERS = 0, 1, 2, 3, 6, 7, 8
INVALID_SESSION, HELLO, HEARTBEAT_ACK = 9, 10, 11
UNKNOWN_OP, DECODE_ERROR, NOT_AUTHENTICATED, WRONG_TOKEN = 4001, 4002, 4003, 4004
TWICE_AUTHENTICATED, WRONG_SEQ, TOO_FAST, TIMED_OUT, WRONG_SHARD = 4005, 4007, 4008, 4009, 4010
WRONG_INTENTS, DISALLOWED_INTENTS = 4013, 4014
MOST_COMMANDS_PER_MINUTE = 120
LONGEST_COMMAND = 4096
EVENTS_KEPT = 2000
ALL_INTENTS = (1 << 26) - 1
PRIVILEGED = MEMBERS_INTENT | PRESENCES_INTENT | MESSAGE_CONTENT_INTENT


@dataclass
class Session:
    id: str
    intents: int
    shard: tuple[int, int]
    seq: int = 0
    kept: deque[tuple[int, str]] = field(default_factory=lambda: deque(maxlen=EVENTS_KEPT))
    connection: "Connection | None" = None

    def sees(self, guild_id: int) -> bool:
        return (guild_id >> 22) % self.shard[1] == self.shard[0]

    async def dispatch(self, event: str, data: Any, *, keep: bool = True) -> None:
        """Also while nobody is connected: a session that is resumed hears it then."""
        self.seq += 1
        text = json.dumps({"op": DISPATCH, "t": event, "s": self.seq, "d": data})
        if keep:
            self.kept.append((self.seq, text))
        if self.connection is not None:
            await self.connection.send_text(text)


class Closed(Exception):
    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Connection:
    def __init__(self, socket: web.WebSocketResponse, request: web.Request, *, compressed: bool) -> None:
        self.socket = socket
        self.transport = request.transport
        self.session: Session | None = None
        self.heard_at = time.monotonic()
        self.sent_at: deque[float] = deque(maxlen=MOST_COMMANDS_PER_MINUTE + 1)
        self._compressor = zlib.compressobj() if compressed else None
        self._sending = asyncio.Lock()
        self.is_closed_here = False

    async def close(self, code: int) -> None:
        self.is_closed_here = True
        await self.socket.close(code=code)

    async def send(self, op: int, data: Any = None) -> None:
        await self.send_text(json.dumps({"op": op, "d": data, "s": None, "t": None}))

    async def send_text(self, text: str) -> None:
        with suppress(ConnectionError):
            async with self._sending:
                if self._compressor is None:
                    await self.socket.send_str(text)
                    return
                pressed = self._compressor.compress(text.encode())
                await self.socket.send_bytes(pressed + self._compressor.flush(zlib.Z_SYNC_FLUSH))


class Gateway:
    def __init__(self, world: World) -> None:
        self._world = world
        self.sessions: dict[str, Session] = {}
        self.connections: list[Connection] = []
        self.heartbeat_interval_s = 41.25
        self.is_deaf = False
        """Heartbeats are heard and not answered, as on a connection that is half dead."""
        self.is_away = False
        self.is_without_chunks = False
        """Requests for members are not answered, as when they come too often."""
        self.seen: Counter[str] = Counter()
        self.intents_asked = 0
        self.chunk_pause_s = 0.0
        self.heartbeat_heard = asyncio.Event()
        self.url = ""

    # What happens at Discord

    async def tell(self, event: str, data: Json, *, guild_id: int, intents: int = 0) -> None:
        for session in list(self.sessions.values()):
            if session.sees(guild_id) and (not intents or session.intents & intents):
                await session.dispatch(event, data)

    def cut(self) -> None:
        """The network goes: no close frame."""
        for connection in list(self.connections):
            if connection.transport is not None:
                connection.transport.abort()

    async def close_all(self, code: int) -> None:
        for connection in list(self.connections):
            await connection.close(code)

    async def send_all(self, op: int, data: Any = None) -> None:
        for connection in list(self.connections):
            await connection.send(op, data)

    # What a client does

    async def serve(self, request: web.Request) -> web.StreamResponse:
        if self.is_away:
            return web.Response(status=503)
        if request.query.get("v") != "10" or request.query.get("encoding") != "json":
            return web.Response(status=400)
        compress = request.query.get("compress")
        assert compress in {None, "zlib-stream"}, compress
        socket = web.WebSocketResponse(max_msg_size=1 << 20)
        await socket.prepare(request)
        connection = Connection(socket, request, compressed=compress is not None)
        self.connections.append(connection)
        self.seen["connections"] += 1
        watching = asyncio.create_task(self._watch(connection))
        try:
            await connection.send(HELLO, {"heartbeat_interval": int(self.heartbeat_interval_s * 1000)})
            async for message in socket:
                await self._hear(connection, message.data if message.type is WSMsgType.TEXT else "")
        except Closed as closed:
            self.seen[f"closed {closed.code}"] += 1
            await connection.close(closed.code)
        finally:
            watching.cancel()
            self.connections.remove(connection)
            self._part(connection, socket.close_code)
        return socket

    def _part(self, connection: Connection, code: int | None) -> None:
        session = connection.session
        if session is not None and session.connection is connection:
            session.connection = None
            if code in {1000, 1001} and not connection.is_closed_here:  # the client will not come back
                self.sessions.pop(session.id, None)

    async def _watch(self, connection: Connection) -> None:
        while True:
            await asyncio.sleep(self.heartbeat_interval_s / 4)
            if time.monotonic() - connection.heard_at > self.heartbeat_interval_s * 1.5:
                self.seen["timed out"] += 1
                await connection.close(TIMED_OUT)
                return

    async def _hear(self, connection: Connection, text: str) -> None:
        now = time.monotonic()
        connection.sent_at.append(now)
        if len(connection.sent_at) > MOST_COMMANDS_PER_MINUTE and now - connection.sent_at[0] < 60:
            raise Closed(TOO_FAST)
        try:
            message = json.loads(text)
            op, data = message["op"], message.get("d")
        except (ValueError, KeyError, TypeError):
            raise Closed(DECODE_ERROR) from None
        if len(text) > LONGEST_COMMAND:
            raise Closed(DECODE_ERROR)
        if op == HEARTBEAT:
            await self._heartbeat(connection, data)
        elif op == IDENTIFY:
            await self._identify(connection, data)
        elif op == RESUME:
            await self._resume(connection, data)
        elif connection.session is None:
            raise Closed(NOT_AUTHENTICATED)
        elif op == REQUEST_MEMBERS:
            await self._send_members(connection.session, data)
        elif op != PRESENCE:
            raise Closed(UNKNOWN_OP)

    async def _heartbeat(self, connection: Connection, seq: int | None) -> None:
        if connection.session is not None and seq is not None and seq > connection.session.seq:
            raise Closed(WRONG_SEQ)
        connection.heard_at = time.monotonic()
        self.seen["heartbeats"] += 1
        self.heartbeat_heard.set()
        if not self.is_deaf:
            await connection.send(HEARTBEAT_ACK)

    async def _identify(self, connection: Connection, data: Json) -> None:
        if connection.session is not None:
            raise Closed(TWICE_AUTHENTICATED)
        if data["token"] != self._world.token:
            raise Closed(WRONG_TOKEN)
        intents = self.intents_asked = data["intents"]
        if intents & ~ALL_INTENTS:
            raise Closed(WRONG_INTENTS)
        if intents & PRIVILEGED & ~self._world.allowed_intents:
            raise Closed(DISALLOWED_INTENTS)
        shard = tuple(data.get("shard", (0, 1)))
        if not 0 <= shard[0] < shard[1]:
            raise Closed(WRONG_SHARD)
        session = Session(f"session-{new_id()}", intents, (shard[0], shard[1]), connection=connection)
        connection.session = self.sessions[session.id] = session
        self.seen["identify"] += 1
        mine = [guild for guild in self._world.guilds.values() if session.sees(guild.id)]
        ready = {
            "v": 10,
            "user": user(BOT),
            "guilds": [{"id": str(guild.id), "unavailable": True} for guild in mine],
            "session_id": session.id,
            "session_type": "normal",
            "resume_gateway_url": self.url,
            "shard": list(shard),
            "application": {"id": str(APPLICATION), "flags": application(self._world.flags)["flags"]},
            "private_channels": [],
        }
        await session.dispatch("READY", ready)
        for guild in mine:
            await session.dispatch("GUILD_CREATE", guild.created)

    async def _resume(self, connection: Connection, data: Json) -> None:
        if connection.session is not None:
            raise Closed(TWICE_AUTHENTICATED)
        if data["token"] != self._world.token:
            raise Closed(WRONG_TOKEN)
        session = self.sessions.get(data["session_id"])
        if session is None:
            self.seen["resume refused"] += 1
            await connection.send(INVALID_SESSION, data=False)
            return
        if data["seq"] > session.seq:
            raise Closed(WRONG_SEQ)
        missed = [text for seq, text in session.kept if seq > data["seq"]]
        if len(missed) < session.seq - data["seq"]:  # more than is kept
            self.seen["resume refused"] += 1
            del self.sessions[session.id]
            await connection.send(INVALID_SESSION, data=False)
            return
        session.connection, connection.session = connection, session
        for text in missed:
            await connection.send_text(text)
        self.seen["resumed"] += 1
        await session.dispatch("RESUMED", {}, keep=False)

    async def _send_members(self, session: Session, data: Json) -> None:
        self.seen["member requests"] += 1
        guild = self._world.guilds.get(int(data["guild_id"]))
        if guild is None:
            return
        everybody = data.get("query") == "" and data.get("limit") == 0
        if self.is_without_chunks:
            return
        if everybody and not session.intents & MEMBERS_INTENT:
            return  # as Discord does: no answer at all
        if "user_ids" in data:
            asked = [int(one) for one in data["user_ids"]][:100]
            found = [one for one in asked if one in guild.members]
        else:
            assert everybody, "names are not searched for here"
            found = list(guild.members)
        pieces = [found[first : first + CHUNK] for first in range(0, len(found), CHUNK)] or [[]]
        for index, piece in enumerate(pieces):
            if self.chunk_pause_s:
                await asyncio.sleep(self.chunk_pause_s)
            chunk: Json = {
                "guild_id": str(guild.id),
                "members": [member(one) for one in piece],
                "chunk_index": index,
                "chunk_count": len(pieces),
            }
            if "nonce" in data:
                chunk["nonce"] = data["nonce"]
            await session.dispatch("GUILD_MEMBERS_CHUNK", chunk)
