"""A sentinel of a test: the real hub and HTTP server, and behind them a desk that says what the test wants.

It keeps to ``wire/fleet.py`` and judges as the fleet does; what it can do besides is lose answers, be away,
forget, and take back.
"""

import asyncio
import itertools
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from dataclasses import replace as changed
from functools import partial
from typing import Any
from uuid import uuid4

import msgspec
from litestar import Litestar, Request, Response, get, post
from litestar.params import FromPath

from shoal.api.errors import answer_error
from shoal.api.server import HttpServer
from shoal.api.settings import ApiSettings
from shoal.beacon.gate import Channel, Gate
from shoal.beacon.hub.hub import Hub
from shoal.beacon.hub.limits import Limits
from shoal.beacon.hub.socket import HubSocket
from shoal.beacon.model import DisconnectCode, Peer, Refused, Subscribed
from shoal.beacon.namespaces import NODES
from shoal.beacon.settings import websocket_url
from shoal.beacon.tokens import ConnectionTokens, node_identity
from shoal.node.configs import hash_of
from shoal.roles.up import free_port
from shoal.runtime.clock import SystemClock
from shoal.runtime.errors import Forbidden, NotFound, Unauthenticated, Unavailable
from shoal.runtime.signatures import (
    KEY_HEADER,
    NONCE_HEADER,
    SIGNATURE_HEADER,
    TIMESTAMP_HEADER,
    SignedRequest,
    hash_body,
    holds,
    read_signature,
    string_to_sign,
)
from shoal.wire.fleet import (
    ChunkAssigned,
    ChunksDropped,
    ChunkVerdict,
    CompleteChunk,
    FailChunk,
    HandBackChunks,
    Heartbeat,
    HeartbeatReply,
    HeldChunk,
    HeldChunks,
    NodeConfigured,
    NodeError,
    NodeToken,
    Ping,
    Register,
    Registered,
    Verdict,
    digest_of,
)

SECRET = "the token secret of a test, long enough"
DEADLINE_S = 20.0
LOOK_EVERY_S = 0.01


@dataclass
class Desk:
    """``held`` is what the node is to have, ``results`` what it handed in, chunk by chunk."""

    node_id: str = field(default_factory=lambda: str(uuid4()))
    key: bytes = b""
    is_revoked: bool = False
    is_known: bool = True
    config: bytes = b"{}"
    max_parallel: int | None = None
    held: dict[str, HeldChunk] = field(default_factory=dict)
    waiting: list[HeldChunk] = field(default_factory=list)
    results: dict[str, Any] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    handed_back: list[str] = field(default_factory=list)
    farewells: int = 0
    heartbeats: list[Heartbeat] = field(default_factory=list)
    asked: Counter[str] = field(default_factory=Counter)
    lose: Counter[str] = field(default_factory=Counter)
    """The answers to so many calls of a method get lost, after the call was heeded."""
    refuse: dict[str, Refused] = field(default_factory=dict)
    """What calls of a method are answered with instead of being heeded."""
    is_away: bool = False
    epoch: int = 1
    token_lives_s: int = 900
    client_url: str = ""
    url: str = ""
    hub: Hub | None = None
    gate: Gate = field(default_factory=Gate)
    _numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(0))

    def __post_init__(self) -> None:
        self.tokens = ConnectionTokens(SECRET, SystemClock())
        self.gate.admit("node", self._is_welcome)
        self.gate.open("nodes", Channel(NODES, subscribe=self._subscribe))
        for method, handler in {
            "heartbeat": self._heartbeat,
            "completeChunk": self._complete_chunk,
            "failChunk": self._fail_chunk,
            "getAssignedChunks": self._get_assigned_chunks,
            "handBackChunks": self._hand_back_chunks,
        }.items():
            self.gate.answer(method, partial(self._answer, method, handler))

    # What a test does

    def chunk(self, engine: str = "count", *, iterations: int = 10, config: bytes | None = None) -> HeldChunk:
        number = next(self._numbers)
        return HeldChunk(
            id=f"task.{number}.1",
            job_id="job",
            engine=f"{engine}@1",
            config_hash=hash_of(self.config if config is None else config),
            seed_offset=number * iterations,
            iterations=iterations,
        )

    def give(self, *chunks: HeldChunk) -> None:
        """Without a word: the node finds out."""
        self.held |= {chunk.id: chunk for chunk in chunks}

    async def assign(self, *chunks: HeldChunk) -> None:
        self.give(*chunks)
        for chunk in chunks:
            await self.say(ChunkAssigned(**msgspec.structs.asdict(chunk)))

    async def take_back(self, *chunks: HeldChunk, silently: bool = False) -> None:
        for chunk in chunks:
            self.held.pop(chunk.id, None)
        if not silently:
            await self.say(ChunksDropped(chunk_ids=[chunk.id for chunk in chunks]))

    async def ping(self) -> None:
        await self.say(Ping(timestamp=0))

    async def configure(self, max_parallel: int | None) -> None:
        self.max_parallel = max_parallel
        await self.say(self._configured)

    async def revoke(self) -> None:
        self.is_revoked = True
        await self.cut(DisconnectCode.AUTHENTICATION_FAILED)

    async def cut(self, code: DisconnectCode = DisconnectCode.FORCE_RECONNECT) -> None:
        assert self.hub is not None
        await self.hub.disconnect(self.node_id, code, "cut by a test")

    async def say(self, message: msgspec.Struct) -> None:
        assert self.hub is not None
        await self.hub.publish(f"nodes:{self.node_id}", msgspec.to_builtins(message))

    async def until(self, condition: Any) -> None:
        async with asyncio.timeout(DEADLINE_S):
            while not condition():  # noqa: ASYNC110 - of the other side
                await asyncio.sleep(LOOK_EVERY_S)

    async def has_results(self, *chunks: HeldChunk) -> None:
        await self.until(lambda: all(chunk.id in self.results for chunk in chunks))

    async def calls(self, method: str, more: int = 1) -> None:
        """So many further calls of it."""
        before = self.asked[method]
        await self.until(lambda: self.asked[method] >= before + more)

    # What the gate asks

    async def _is_welcome(self, user: str, _meta: Mapping[str, Any]) -> bool:
        return user == self.node_id and not self.is_revoked

    async def _subscribe(self, peer: Peer, name: str, _data: Any) -> Subscribed:
        assert name == peer.user
        return Subscribed()

    async def _answer(self, method: str, handler: Any, _peer: Peer, data: Any) -> Any:
        self.asked[method] += 1
        if self.is_away:
            raise Refused(100, "the desk is away", temporary=True)
        if refused := self.refuse.get(method):
            if not refused.temporary:
                self.held.pop(data["chunkId"], None)
            raise refused
        answer = handler(data)
        if self.lose[method]:
            self.lose[method] -= 1
            raise Refused(100, "the answer was lost", temporary=True)
        return msgspec.to_builtins(answer)

    @property
    def _configured(self) -> NodeConfigured:
        return NodeConfigured(user_id=None, name="a node", max_parallel=self.max_parallel)

    def _heartbeat(self, data: Any) -> HeartbeatReply:
        self.heartbeats.append(msgspec.convert(data, Heartbeat))
        return HeartbeatReply(
            epoch=self.epoch,
            backlog=len(self.held),
            digest=digest_of(self.held),
            lost=[],
            chunks=[],
            config=self._configured,
        )

    def _complete_chunk(self, data: Any) -> ChunkVerdict:
        said = msgspec.convert(data, CompleteChunk)
        verdict: Verdict
        if self.held.pop(said.chunk_id, None) is not None:
            assert said.chunk_id not in self.results, "it was counted twice"
            self.results[said.chunk_id] = said.result
            verdict = "OK"
        else:
            verdict = "ALREADY_COMPLETED" if said.chunk_id in self.results else "WRONG_NODE"
        given = [self.waiting.pop(0) for _ in range(min(said.wanted, len(self.waiting)))]
        self.give(*given)
        return ChunkVerdict(verdict=verdict, chunks=given)

    def _fail_chunk(self, data: Any) -> HeldChunks:
        said = msgspec.convert(data, FailChunk)
        if self.held.pop(said.chunk_id, None) is None:
            raise Refused(NodeError.CHUNK_NOT_FOUND, "chunk not found")
        self.failures[said.chunk_id] = said.code
        return HeldChunks(chunks=[])

    def _get_assigned_chunks(self, data: Any) -> HeldChunks:
        assert data == {}
        return HeldChunks(chunks=list(self.held.values()))

    def _hand_back_chunks(self, data: Any) -> HeldChunks:
        said = msgspec.convert(data, HandBackChunks)
        for chunk_id in said.chunk_ids if not said.leaving else list(self.held):
            if self.held.pop(chunk_id, None) is not None:
                self.handed_back.append(chunk_id)
        self.farewells += said.leaving
        return HeldChunks(chunks=[])

    # What HTTP asks

    async def admitted(self, request: Request[Any, Any, Any]) -> bytes:
        """The body of a request whose signature holds."""
        body = await request.body()
        if self.is_away:
            raise Unavailable("desk_away", "The desk is away.")
        key = bytes.fromhex(request.headers[KEY_HEADER])
        version, signature = read_signature(request.headers[SIGNATURE_HEADER])
        signed = SignedRequest(
            method=request.method,
            host=request.headers["host"],
            path=request.url.path,
            query=request.url.query,
            timestamp=request.headers[TIMESTAMP_HEADER],
            nonce=request.headers[NONCE_HEADER],
            body_hash=hash_body(body),
        )
        if not holds(key, signature, string_to_sign(signed, version)):
            raise Unauthenticated("signature_invalid", "The signature does not hold.")
        self.asked[request.url.path] += 1
        if abs(int(signed.timestamp) / 1000 - time.time()) > 60:
            raise Unauthenticated("signature_expired", "The request was signed more than a minute from now.")
        if self.key not in {b"", key}:
            raise Unauthenticated("node_unknown", "Another node is expected.")
        self.key = key
        if self.is_revoked:
            raise Forbidden("node_revoked", "This node was revoked by its owner.")
        return body

    def new_token(self) -> NodeToken:
        lives_until = int(SystemClock().now().timestamp()) + self.token_lives_s
        identity = changed(node_identity(self.node_id, self.key), expires_at=lives_until)
        return NodeToken(
            jwt=self.tokens.issue(identity), expires_at=lives_until, url=self.client_url, id=self.node_id
        )


@asynccontextmanager
async def serve_desk(desk: Desk, *, port: int = 0) -> AsyncIterator[Desk]:
    """While inside, the desk is there; the same one may be served again, as after a restart."""

    @post("/nodes/register")
    async def register(request: Request[Any, Any, Any]) -> Response[bytes]:
        msgspec.json.decode(await desk.admitted(request), type=Register)
        desk.is_known = True
        return _json(Registered(id=desk.node_id, claim_code="CLAIM-ME"))

    @post("/nodes/token")
    async def token(request: Request[Any, Any, Any]) -> Response[bytes]:
        await desk.admitted(request)
        if not desk.is_known:
            raise Unauthenticated("node_unknown", "No node has this key.")
        return _json(desk.new_token())

    @get("/config/{config_hash:str}")
    async def config(request: Request[Any, Any, Any], config_hash: FromPath[str]) -> Response[bytes]:
        await desk.admitted(request)
        if hash_of(desk.config) != config_hash:
            raise NotFound("config_not_found", "There is no such config.")
        return Response(desk.config, media_type="application/json")

    hub = desk.hub = Hub(desk.gate, desk.tokens, SystemClock(), limits=Limits(expired_grace_s=5))
    app = Litestar(
        [register, token, config], exception_handlers={Exception: answer_error}, logging_config=None
    )
    server = HttpServer(
        app,
        ApiSettings(api_port=port or free_port("127.0.0.1")),
        drain_s=1,
        open_socket=partial(HubSocket, hub, ()),
    )
    await server.start()
    running = [asyncio.create_task(hub.run()), asyncio.create_task(server.run())]
    desk.url, desk.client_url = server.url, websocket_url(server.url)
    try:
        yield desk
    finally:
        await hub.stop()
        await server.stop()
        await asyncio.gather(*running)


def _json(answer: msgspec.Struct) -> Response[bytes]:
    return Response(msgspec.json.encode(answer), media_type="application/json", status_code=200)
