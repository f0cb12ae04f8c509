"""Worker processes on this machine: one that dies is started again, after pauses that grow."""

import asyncio
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Sequence
from contextlib import suppress

import structlog

from shoal.roles.config import Given
from shoal.runtime.errors import Unavailable
from shoal.runtime.lifecycle import Part
from shoal.worker.settings import WorkerSettings

log = structlog.get_logger(__name__)

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 30.0
READY_TIMEOUT_S = 60.0
HAND_BACK_S = 5.0
"""How much longer than its children a parent waits: they hand back what they hold after their grace."""
READY = "ready"


def next_pause_s(pause_s: float, *, lived_s: float) -> float:
    """Twice as long as before, unless the last one lived well."""
    return FIRST_PAUSE_S if lived_s > LONGEST_PAUSE_S else min(pause_s * 2, LONGEST_PAUSE_S)


def worker_arguments(given: Given, apps: Sequence[str], own: WorkerSettings, *, number: int) -> list[str]:
    """For ``shoal worker run`` as the child with this number, on what its parent was given."""
    flags: dict[str, object] = {}
    if own.worker_id:  # no two processes may have the same
        flags["worker_id"] = f"{own.worker_id}-{number}"
    if own.worker_metrics_port:
        flags["worker_metrics_port"] = own.worker_metrics_port + number - 1
    return process_arguments(given.with_flags(**flags), apps)


def process_arguments(given: Given, own: Sequence[str]) -> list[str]:
    """Its own arguments, and the settings that its parent was given."""
    arguments = [*own]
    if given.file is not None:
        arguments += ["--config", str(given.file)]
    for name, value in given.flags.items():
        if value is not None:
            arguments += ["--set", f"{name}={value}"]
    return arguments


class WorkerProcess(Part):
    """A child that ends with us: it watches its stdin, whose other end only this process holds.

    ``start`` fails when the child does not get ready. Without ``start``, ``run`` tries until it does. A
    child that has not ended when ``run`` is cancelled is killed.
    """

    def __init__(
        self, name: str, arguments: Sequence[str], *, command: Sequence[str] = ("worker", "run")
    ) -> None:
        self.name = name
        self._arguments = [*command, *arguments]
        self._stopping = asyncio.Event()
        self._process: Process | None = None

    async def start(self) -> None:
        await self._spawn()

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        pause_s = FIRST_PAUSE_S / 2
        try:
            while True:
                started = loop.time()
                code = await self._outlived()
                if self._stopping.is_set():
                    return
                pause_s = next_pause_s(pause_s, lived_s=loop.time() - started)
                log.error("process died", process=self.name, exit_code=code, restart_in_s=pause_s)
                await self._pause(pause_s)
        except asyncio.CancelledError:
            self._send(signal.SIGKILL)
            raise

    async def stop(self) -> None:
        self._stopping.set()
        self._send(signal.SIGTERM)

    async def _outlived(self) -> int | None:
        """Start the child if none is running, and wait for its end; returns its exit code."""
        if self._process is None or self._process.returncode is not None:
            try:
                await self._spawn()
            except (Unavailable, OSError) as error:
                if not self._stopping.is_set():
                    log.warning("process does not start", process=self.name, error=str(error))
        return await self._process.wait() if self._process is not None else None

    async def _spawn(self) -> None:
        """Start the child and wait until it says that it is ready."""
        process = self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "shoal",
            *self._arguments,
            "--until-stdin-closes",
            stdin=PIPE,
            stdout=PIPE,
            start_new_session=True,
        )
        if process.stdout is None:
            raise RuntimeError("the child was started without a pipe")
        if not await _says_ready(process.stdout):
            self._send(signal.SIGKILL)
            raise Unavailable(
                "worker_failed_to_start",
                f"The process {self.name} did not start.",
                hint="What it printed above says why.",
            )

    def _send(self, number: signal.Signals) -> None:
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError):  # it ends by itself just now
                self._process.send_signal(number)

    async def _pause(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
        except TimeoutError:
            return


class Crew(Part):
    """Several children at once: they start beside each other, and stop so."""

    def __init__(self, name: str, processes: Sequence[WorkerProcess]) -> None:
        self.name = name
        self._processes = processes

    async def start(self) -> None:
        await asyncio.gather(*(process.start() for process in self._processes))

    async def run(self) -> None:
        async with asyncio.TaskGroup() as running:
            for process in self._processes:
                running.create_task(process.run())

    async def stop(self) -> None:
        for process in self._processes:
            await process.stop()


async def _says_ready(output: asyncio.StreamReader) -> bool:
    """Whether the child gets ready in time. What its apps print while they are imported is passed over."""
    with suppress(TimeoutError):
        async with asyncio.timeout(READY_TIMEOUT_S):
            async for line in output:
                if line.decode(errors="replace").strip() == READY:
                    return True
    return False


class LocalWorkers(Part):
    """A scaler of processes on this machine: the last one to come is the first one to go.

    Whoever is told to go drains, and keeps its number (its name, its ports) until it has ended.
    """

    name = "local workers"

    def __init__(self, arguments: Callable[[int], Sequence[str]]) -> None:
        self._arguments = arguments
        self._staying: list[int] = []
        self._alive: dict[int, tuple[WorkerProcess, asyncio.Task[None]]] = {}
        self._stopping = asyncio.Event()

    async def size(self) -> int:
        return len(self._staying)

    async def scale_to(self, workers: int) -> None:
        while len(self._staying) < workers and not self._stopping.is_set():
            self._staying.append(self._hire())
        while len(self._staying) > workers:
            process, _ = self._alive[self._staying.pop()]
            await process.stop()

    async def run(self) -> None:
        await self._stopping.wait()
        await asyncio.gather(*(task for _, task in self._alive.values()))

    async def stop(self) -> None:
        self._stopping.set()
        await self.scale_to(0)

    def _hire(self) -> int:
        number = next(number for number in range(1, len(self._alive) + 2) if number not in self._alive)
        process = WorkerProcess(f"worker {number}", self._arguments(number))
        task = asyncio.create_task(process.run(), name=process.name)
        task.add_done_callback(lambda _: self._alive.pop(number))
        self._alive[number] = process, task
        return number
