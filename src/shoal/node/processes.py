"""Processes that compute chunks: made when one is needed, used again, killed when a chunk has to end."""

import asyncio
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from shoal.node.chunks import Ending, NotComputed
from shoal.node.messages import LONGEST_LINE, Compute, Moved, Stop, from_process, line_of
from shoal.runtime.child_process import ChildProcess, start_child
from shoal.wire.fleet import HeldChunk

TIME_TO_STOP_S = 1.0


class Processes:
    """``apps`` are the references under which a process finds the engines."""

    def __init__(self, apps: Sequence[str], *, niceness: int, longest_s: float) -> None:
        self._apps = list(apps)
        self._niceness = niceness
        self._longest_s = longest_s
        self._idle: list[ChildProcess] = []
        self._all: set[ChildProcess] = set()

    async def compute(
        self, chunk: HeldChunk, config: Any, memory_mb: int | None, moved: Callable[[int], None]
    ) -> Ending:
        """How the chunk ended. Cancelling it stops the engine, within a moment."""
        asked = Compute(
            apps=self._apps,
            paths=sys.path,
            chunk=chunk,
            config=config,
            niceness=self._niceness,
            memory_mb=memory_mb,
        )
        process = await self._one()
        try:
            async with asyncio.timeout(self._longest_s):
                ending = await _computed(process, asked, moved)
        except TimeoutError:
            self._end(process)
            return NotComputed("chunk_took_too_long", f"It took longer than {self._longest_s:g} s.")
        except asyncio.CancelledError:
            await asyncio.shield(self._stop(process))
            raise
        except BaseException:
            self._end(process)
            raise
        self._keep(process)
        return ending

    def kill(self) -> None:
        """The node ends: so do all of them, now."""
        for process in self._all:
            process.kill()
        self._all.clear()
        self._idle.clear()

    async def _one(self) -> ChildProcess:
        while self._idle:
            process = self._idle.pop()
            if process.is_alive:
                return process
            self._end(process)
        process = await start_child("shoal.node.child", longest_line=LONGEST_LINE)
        self._all.add(process)
        return process

    def _keep(self, process: ChildProcess) -> None:
        """Used again, if it lives."""
        if process.is_alive:
            self._idle.append(process)
        else:
            self._end(process)

    async def _stop(self, process: ChildProcess) -> None:
        """Ask it to stop, and kill it when it has had its time."""
        process.say(line_of(Stop()))
        with suppress(TimeoutError):
            async with asyncio.timeout(TIME_TO_STOP_S):
                while (line := await process.hear()) is not None:
                    if not isinstance(from_process(line), Moved):
                        self._keep(process)
                        return
        self._end(process)

    def _end(self, process: ChildProcess) -> None:
        process.kill()
        self._all.discard(process)


async def _computed(process: ChildProcess, asked: Compute, moved: Callable[[int], None]) -> Ending:
    process.say(line_of(asked))
    while (line := await process.hear()) is not None:
        message = from_process(line)
        if not isinstance(message, Moved):
            return message
        moved(message.iterations)
    return NotComputed("engine_died", f"Its process {await process.death()}.")
