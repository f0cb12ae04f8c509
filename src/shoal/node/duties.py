"""What a node does while it is there: heartbeats, look-ups, and telling how chunks ended.

What is held and owed is decided in ``holdings`` and computed in ``pool``; this carries it out.
"""

import asyncio
import time
from collections.abc import Iterable
from functools import partial
from typing import Any, TypeVar

import msgspec
import structlog

from shoal.app.engine import Engine
from shoal.node.chunks import Computed, Ending, NotComputed
from shoal.node.configs import ConfigCache
from shoal.node.connection import CallFailed, Connection
from shoal.node.door import PLATFORM, VERSION
from shoal.node.holdings import Action, Begin, Drop, HandBack, Holdings, LookUp, Offer
from shoal.node.pool import ChunkPool
from shoal.node.processes import Processes
from shoal.node.results import KeptResult, ResultStore
from shoal.node.rules import is_noteworthy, places_of, random_pause_s
from shoal.node.settings import NodeSettings
from shoal.node.tasks import TaskBag
from shoal.runtime.errors import Unavailable
from shoal.wire.fleet import (
    MOST_HELD,
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
    NodePush,
    Ping,
)

log = structlog.get_logger(__name__)

TOLD_AT_ONCE = 8
"""A beacon lets a client have twice as many calls under way; heartbeats must not wait behind results."""
FAREWELL_S = 2.0
SHORTEST_BEAT_S = 1.0
MOST_WORDS = 1000

Answer = TypeVar("Answer")


class Duties:
    """``begin`` comes first; calls wait for a connection."""

    def __init__(
        self,
        settings: NodeSettings,
        results: ResultStore,
        configs: ConfigCache,
        *,
        engines: Iterable[Engine],
        processes: Processes,
    ) -> None:
        by_identity = {engine.identity: engine for engine in engines}
        self._settings = settings
        self._results = results
        self._configs = configs
        self._engines = sorted(by_identity)
        self._holdings = Holdings(owed={one.chunk_id: Computed(one.result) for one in results.kept})
        self._pool = ChunkPool(
            by_identity, processes, places=settings.parallel, config_of=self._config_of, ended=self._on_ended
        )
        self._tasks: TaskBag
        self._connection: Connection
        self._connected = asyncio.Event()
        self._connections = 0
        self._beat_now = asyncio.Event()
        self._beat_at = 0.0
        self._epoch: int | None = None
        self._told_chunk_s: float | None = None
        self._config: NodeConfigured | None = None
        self._telling = asyncio.Semaphore(TOLD_AT_ONCE)
        self._reports: dict[str, asyncio.Task[None]] = {}
        self._settled = asyncio.Event()

    def begin(self, tasks: TaskBag) -> None:
        self._tasks = tasks
        tasks.spawn(self._beat_for_ever())

    # What the connection tells

    def use(self, connection: Connection) -> None:
        self._connection = connection

    def connected(self) -> None:
        self._connections += 1
        self._connected.set()
        self._beat_now.set()

    def interrupted(self) -> None:
        self._connected.clear()
        self._settled.set()  # whoever waits for it has waited enough

    def pushed(self, data: Any) -> None:
        try:
            push: Any = msgspec.convert(data, NodePush)
        except msgspec.ValidationError as error:
            log.warning("message not understood", error=str(error))
            return
        match push:
            case ChunkAssigned():
                self._do(self._holdings.pushed([push]))
            case ChunksDropped(chunk_ids=chunk_ids):
                self._do(self._holdings.lost(chunk_ids))
            case Ping():
                self._beat_now.set()
            case NodeConfigured():
                self._configure(push)

    # Going

    async def drain(self, seconds: float) -> None:
        """Let what runs come to its end, as long as there is time, and take nothing more."""
        if not self._connected.is_set():
            return
        self._do(self._holdings.leave(self._pool.waiting))
        self._beat_now.set()
        try:
            async with asyncio.timeout(seconds):
                while self._connected.is_set() and not self._holdings.is_empty:
                    self._settled.clear()
                    await self._settled.wait()
        except TimeoutError:
            log.info("handing back what did not end in time", chunks=len(self._holdings.held))

    async def leave(self) -> None:
        """Stop everything, give it back, and be forgotten."""
        chunk_ids = list(self._holdings.held)[:MOST_HELD]
        await self._pool.stop()
        if self._connected.is_set():
            try:
                async with asyncio.timeout(FAREWELL_S):
                    await self._call(
                        "handBackChunks", HandBackChunks(chunk_ids=chunk_ids, leaving=True), HeldChunks
                    )
            except (CallFailed, TimeoutError) as error:
                log.warning("left without a word", error=str(error))

    # Heartbeats

    async def _beat_for_ever(self) -> None:
        failures = 0
        greeted = 0
        while True:
            await self._connected.wait()
            self._beat_now.clear()
            connection = self._connections
            try:
                reply, asked = await self._beat()
            except CallFailed as error:
                failures += 1
                pause = min(random_pause_s(failures), self._settings.node_heartbeat_s)
                log.warning("heartbeat failed", error=str(error))
            else:
                failures = 0
                pause = self._settings.node_heartbeat_s
                if connection == self._connections:
                    self._heard(reply, asked, is_first=greeted != connection)
                    greeted = connection
            await _until(self._beat_now, pause)

    async def _beat(self) -> tuple[HeartbeatReply, int]:
        """The answer, and the turn in which it was asked for."""
        held = {**self._pool.held, **dict.fromkeys(self._holdings.owed, 1.0)}
        self._beat_at = time.monotonic()
        self._told_chunk_s = self._pool.chunk_s
        said = Heartbeat(
            chunks={one: min(1.0, held[one]) for one in list(held)[:MOST_HELD]},
            engines=self._engines,
            max_parallel=0 if self._holdings.is_leaving else self._settings.parallel,
            chunk_s=self._told_chunk_s,
            version=VERSION,
            platform=PLATFORM,
        )
        asked = self._holdings.turn
        return await self._call("heartbeat", said, HeartbeatReply), asked

    def _heard(self, reply: HeartbeatReply, asked: int, *, is_first: bool) -> None:
        self._configure(reply.config)
        self._do(self._holdings.lost(reply.lost))
        self._do(self._holdings.handed(reply.chunks, asked=asked))
        is_new = reply.epoch != self._epoch
        self._epoch = reply.epoch
        if is_first:
            self._do(self._holdings.connected())
        else:
            self._do(self._holdings.look_up() if is_new else self._holdings.felt(reply.digest))

    def _configure(self, config: NodeConfigured) -> None:
        if config == self._config:
            return
        self._config = config
        places = places_of(self._settings.parallel, config.max_parallel)
        log.info("node configured", name=config.name, places=places, claimed=config.user_id is not None)
        self._pool.resize(places)
        if not places:  # paused: what runs may end
            self._do(self._holdings.hand_back(self._pool.waiting))

    # What is held and owed

    def _do(self, actions: Iterable[Action]) -> None:
        for action in actions:
            match action:
                case Begin(chunks=chunks):
                    self._pool.take(chunks)
                case Drop(chunk_ids=chunk_ids):
                    self._pool.drop(chunk_ids)
                case Offer(chunk_id=chunk_id):
                    if chunk_id not in self._reports:
                        report = self._reports[chunk_id] = self._tasks.spawn(self._report(chunk_id))
                        report.add_done_callback(partial(self._end_report, chunk_id))
                case HandBack(chunk_ids=chunk_ids):
                    self._tasks.spawn(self._hand_back(chunk_ids))
                case LookUp():
                    self._tasks.spawn(self._look_up(self._connections))

    def _on_ended(self, chunk: HeldChunk, ending: Ending) -> None:
        if isinstance(ending, Computed):
            try:
                self._results.keep(KeptResult(chunk.id, ending.result))
            except OSError as error:  # told all the same; lost if the node dies before
                log.warning("result not kept", chunk=chunk.id, error=str(error))
        self._do(self._holdings.ended(chunk.id, ending))
        is_news = is_noteworthy(self._told_chunk_s, self._pool.chunk_s)
        if is_news and time.monotonic() - self._beat_at > SHORTEST_BEAT_S:
            self._beat_now.set()

    def _end_report(self, chunk_id: str, _: asyncio.Task[None]) -> None:
        del self._reports[chunk_id]

    async def _report(self, chunk_id: str) -> None:
        """Tell how a chunk ended, until the server has a verdict."""
        failures = 0
        chunks: list[HeldChunk] | None
        while (ending := self._holdings.owed.get(chunk_id)) is not None:
            async with self._telling:
                await self._connected.wait()
                asked = self._holdings.turn
                try:
                    chunks = await self._tell(chunk_id, ending)
                except CallFailed as error:
                    log.warning("result not taken", chunk=chunk_id, error=str(error))
                    chunks = None if error.is_worth_repeating else []
            if chunks is None:
                failures += 1
                await asyncio.sleep(random_pause_s(failures))
                continue
            self._holdings.settled(chunk_id)
            self._results.forget(chunk_id)
            self._settled.set()
            self._do(self._holdings.handed(chunks, asked=asked))

    async def _tell(self, chunk_id: str, ending: Ending) -> list[HeldChunk]:
        """The next chunks."""
        if isinstance(ending, NotComputed):
            failed = FailChunk(chunk_id=chunk_id, code=ending.code, reason=ending.reason[:MOST_WORDS])
            return (await self._call("failChunk", failed, HeldChunks)).chunks
        wanted = 0 if self._holdings.is_leaving else self._pool.places
        complete = CompleteChunk(chunk_id=chunk_id, result=ending.result, wanted=wanted)
        answer = await self._call("completeChunk", complete, ChunkVerdict)
        if answer.verdict not in {"OK", "ALREADY_COMPLETED"}:
            log.warning("result refused", chunk=chunk_id, verdict=answer.verdict, reason=answer.reason)
        if answer.verdict == "UNKNOWN_NODE":
            self._beat_now.set()
        return answer.chunks

    async def _look_up(self, connection: int) -> None:
        asked = self._holdings.turn
        answer: HeldChunks | None = None
        try:
            answer = await self._call("getAssignedChunks", None, HeldChunks)
        except CallFailed as error:
            log.warning("look-up failed", error=str(error))
            await asyncio.sleep(random_pause_s(1))
        if connection != self._connections:  # a newer one has asked anew
            return
        if answer is None:
            self._do(self._holdings.look_failed())
        else:
            self._do(self._holdings.looked(answer.chunks, asked=asked))

    async def _hand_back(self, chunk_ids: tuple[str, ...]) -> None:
        try:
            await self._call("handBackChunks", HandBackChunks(chunk_ids=list(chunk_ids)), HeldChunks)
        except CallFailed as error:
            log.warning("not handed back; the server finds out", error=str(error))

    async def _config_of(self, config_hash: str) -> Any:
        """A server that is away holds a chunk up; it does not make it fail."""
        failures = 0
        while True:
            try:
                return await self._configs.get(config_hash)
            except Unavailable as error:
                failures += 1
                log.warning("config not fetched", config=config_hash, error=str(error))
                await asyncio.sleep(random_pause_s(failures))

    async def _call(self, method: str, request: msgspec.Struct | None, kind: type[Answer]) -> Answer:
        return await self._connection.call(method, request, kind)


async def _until(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return
