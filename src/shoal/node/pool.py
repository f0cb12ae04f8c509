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
from shoal.node.chunks import Chunk, Computed, Ending, NotComputed
from shoal.node.processes import Processes
from shoal.runtime.errors import ShoalError

log = structlog.get_logger(__name__)

ConfigOf = Callable[[str], Awaitable[Any]]
Ended = Callable[[Chunk, Ending], None]


@dataclass
class Running:
    chunk: Chunk
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
        self._waiting: dict[str, Chunk] = {}
        self._running: dict[str, Running] = {}
        self.chunk_s: float | None = None
        """How long the last chunk took, in seconds; None before the first."""

    @property
    def held(self) -> Mapping[str, float]:
        """The share that is done of each chunk."""
        running = {chunk_id: one.done / one.chunk.iterations for chunk_id, one in self._running.items()}
        return {**running, **dict.fromkeys(self._waiting, 0.0)}

    @property
    def places(self) -> int:
        return self._places

    def resize(self, places: int) -> None:
        """With fewer places, what runs still ends; with none, nothing new begins."""
        self._places = places
        self._fill()

    def take(self, chunks: Iterable[Chunk]) -> None:
        """Hold these chunks as well. One that is held already is still held once."""
        for chunk in chunks:
            if chunk.id not in self._running:
                self._waiting.setdefault(chunk.id, chunk)
        self._fill()

    def drop(self, chunk_ids: Collection[str]) -> None:
        """Forget these chunks, and stop what runs of them."""
        for chunk_id in chunk_ids:
            self._waiting.pop(chunk_id, None)
            running = self._running.get(chunk_id)
            if running is not None:
                running.task.cancel()

    async def stop(self) -> None:
        """Drop everything, and end the processes."""
        self._places = 0
        self.drop(list(self.held))
        if self._running:
            await asyncio.wait([one.task for one in self._running.values()])
        self._processes.kill()

    def _fill(self) -> None:
        while self._waiting and len(self._running) < self._places:
            chunk = self._waiting.pop(next(iter(self._waiting)))
            running = Running(chunk, asyncio.create_task(self._run(chunk)))
            self._running[chunk.id] = running
            running.task.add_done_callback(partial(self._leave, chunk))

    def _leave(self, chunk: Chunk, _: asyncio.Task[None]) -> None:
        del self._running[chunk.id]
        self._fill()

    async def _run(self, chunk: Chunk) -> None:
        began = time.monotonic()
        try:
            ending = await self._compute(chunk)
        except ShoalError as error:
            ending = NotComputed(error.code, error.message)
        if isinstance(ending, Computed):
            self.chunk_s = time.monotonic() - began
        else:
            log.warning("chunk not computed", chunk=chunk.id, code=ending.code, reason=ending.reason)
        self._ended(chunk, ending)

    async def _compute(self, chunk: Chunk) -> Ending:
        engine = self._engines.get(chunk.engine)
        if engine is None:
            return NotComputed("unknown_engine", f"This node does not have the engine {chunk.engine}.")
        config = await self._config_of(chunk.config_hash)
        running = self._running[chunk.id]
        return await self._processes.compute(chunk, config, engine.memory_mb, running.move)
