"""Worker processes that ``up`` keeps running: one that dies is started again, with growing pauses."""

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence

import structlog

from shoal.runtime.errors import Unavailable
from shoal.runtime.lifecycle import Part

log = structlog.get_logger(__name__)

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 30.0
READY_TIMEOUT_S = 60.0


class WorkerProcess(Part):
    """A child that ends with us: it watches its stdin, whose other end only this process holds."""

    def __init__(self, name: str, arguments: Sequence[str]) -> None:
        self.name = name
        self._arguments = arguments
        self._stopping = asyncio.Event()
        self._process: Process | None = None

    async def start(self) -> None:
        self._process = await self._spawn()

    async def run(self) -> None:
        pause = FIRST_PAUSE_S
        while self._process is not None:
            code = await self._process.wait()
            if self._stopping.is_set():
                return
            log.error("worker process died", worker=self.name, exit_code=code, restart_in_s=pause)
            await self._pause(pause)
            pause = min(pause * 2, LONGEST_PAUSE_S)
            if not self._stopping.is_set():
                self._process = await self._respawn()

    async def stop(self) -> None:
        self._stopping.set()
        if self._process is not None and self._process.returncode is None:
            self._process.terminate()

    async def _respawn(self) -> Process | None:
        try:
            return await self._spawn()
        except Unavailable as error:
            log.exception("worker process does not start", error=str(error))
            return self._process

    async def _spawn(self) -> Process:
        """Start the child and wait until it says that it is ready."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "shoal",
            "worker",
            "run",
            *self._arguments,
            "--until-stdin-closes",
            stdin=PIPE,
            stdout=PIPE,
            start_new_session=True,
        )
        if process.stdout is None:
            raise RuntimeError("the child was started without a pipe")
        try:
            async with asyncio.timeout(READY_TIMEOUT_S):
                line = await process.stdout.readline()
        except TimeoutError:
            line = b""
        if not line:
            if process.returncode is None:
                process.kill()
            raise Unavailable(
                "worker_failed_to_start",
                f"The worker process {self.name} did not start.",
                hint="What it printed above says why.",
            )
        return process

    async def _pause(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
        except TimeoutError:
            return
