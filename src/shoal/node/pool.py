"""The chunks a node holds: those that run, in processes, and those that wait for a place.

Whatever happens here happens on the event loop, and nothing waits for anything outside but configs.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import structlog

from shoal.app.engine import Engine
from shoal.node.chunks import Computed, Ending, NotComputed
from shoal.node.processes import Processes
from shoal.node.rules import smoothed
from shoal.runtime.errors import ShoalError
from shoal.wire.fleet import HeldChunk

log = structlog.get_logger(__name__)

ConfigOf = Callable[[str], Awaitable[Any]]
Ended = Callable[[HeldChunk, Ending], None]


@dataclass
class Running:
    chunk: HeldChunk
    task: asyncio.Task[None]
    done: int = 0

    def move(self, done: int) -> None:
        self.done = done


class ChunkPool:
    """``engines`` are known by their identities; ``ended`` hears of each chunk that was not dropped."""

    def __init__(
        self,
        engines: Mapping[str, Engine],
        processes: Processes,
        *,
        places: int,
        config_of: ConfigOf,
        ended: Ended,
    ) -> None:
        self._engines = engines
        self._processes = processes
        self._places = places
        self._config_of = config_of
        self._ended = ended
        self._waiting: dict[str, HeldChunk] = {}
        self._running: dict[str, Running] = {}
        self._stopping: set[asyncio.Task[None]] = set()
        """Of chunks that were dropped: they keep their places for a moment."""
        self.chunk_s: float | None = None
        """How long a chunk takes, in seconds; None before the first."""

    @property
    def held(self) -> Mapping[str, float]:
        """The share that is done of each chunk."""
        running = {chunk_id: one.done / one.chunk.iterations for chunk_id, one in self._running.items()}
        return {**running, **dict.fromkeys(self._waiting, 0.0)}

    @property
    def waiting(self) -> Collection[str]:
        """Those that have not begun."""
        return list(self._waiting)

    @property
    def places(self) -> int:
        return self._places

    def resize(self, places: int) -> None:
        """With fewer places, what runs still ends; with none, nothing new begins."""
        self._places = places
        self._fill()

    def take(self, chunks: Iterable[HeldChunk]) -> None:
        """Hold these chunks as well. One that is held already is still held once."""
        for chunk in chunks:
            if chunk.id not in self._running:
                self._waiting.setdefault(chunk.id, chunk)
        self._fill()

    def drop(self, chunk_ids: Collection[str]) -> None:
        """Forget these chunks, and stop what runs of them."""
        for chunk_id in chunk_ids:
            self._waiting.pop(chunk_id, None)
            running = self._running.pop(chunk_id, None)
            if running is not None:
                self._stopping.add(running.task)
                running.task.cancel()

    async def stop(self) -> None:
        """Drop everything, and end the processes."""
        self._places = 0
        self.drop(list(self.held))
        if self._stopping:
            await asyncio.wait(self._stopping)
        self._processes.kill()

    def _fill(self) -> None:
        while self._waiting and len(self._running) + len(self._stopping) < self._places:
            chunk = self._waiting.pop(next(iter(self._waiting)))
            task = asyncio.create_task(self._run(chunk))
            running = self._running[chunk.id] = Running(chunk, task)
            task.add_done_callback(partial(self._leave, running))

    def _leave(self, running: Running, task: asyncio.Task[None]) -> None:
        self._stopping.discard(task)
        if self._running.get(running.chunk.id) is running:
            del self._running[running.chunk.id]
        self._fill()

    async def _run(self, chunk: HeldChunk) -> None:
        try:
            ending = await self._compute(chunk)
        except ShoalError as error:
            ending = NotComputed(error.code, error.message)
        if isinstance(ending, NotComputed):
            log.warning("chunk not computed", chunk=chunk.id, code=ending.code, reason=ending.reason)
        del self._running[chunk.id]  # whoever hears of its end may look at what is held
        self._ended(chunk, ending)

    async def _compute(self, chunk: HeldChunk) -> Ending:
        engine = self._engines.get(chunk.engine)
        if engine is None:
            return NotComputed("unknown_engine", f"This node does not have the engine {chunk.engine}.")
        config = await self._config_of(chunk.config_hash)
        move = self._running[chunk.id].move
        began = time.monotonic()
        ending = await self._processes.compute(chunk, config, engine.memory_mb, move)
        if isinstance(ending, Computed):
            self.chunk_s = smoothed(self.chunk_s, time.monotonic() - began)
        return ending
