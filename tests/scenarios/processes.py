"""Processes a scenario starts, and everything that can be done to them."""

import asyncio
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

READY_S = 60.0
END_S = 40.0
LOOK_EVERY_S = 0.05


class Launched:
    """A ``shoal`` command that runs until it is told to stop. Its log is appended to, start after start."""

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        log_file: Path,
        environment: Mapping[str, str],
        ready: bytes,
        module: str = "shoal",
    ) -> None:
        """``module`` is another program with the same commands."""
        self.command = [sys.executable, "-m", module, *arguments]
        self.log_file = log_file
        self._environment = environment
        self._ready = ready
        self._process: asyncio.subprocess.Process | None = None
        self.exit_codes: list[int] = []

    @property
    def pid(self) -> int:
        if self._process is None:
            raise RuntimeError("the process was never started")
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process is not None and self._process.returncode is None

    async def start(self, *more: str) -> str:
        """Returns the line by which it said that it is ready."""
        with self.log_file.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *self.command,
                *more,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                env={**os.environ, **self._environment},
                start_new_session=True,
            )
        assert self._process.stdout is not None
        async with asyncio.timeout(READY_S):
            line = await self._process.stdout.readline()
        if not line.startswith(self._ready):
            raise AssertionError(f"{' '.join(self.command[1:4])} did not start: see {self.log_file}")
        return line.decode().strip()

    def signal(self, number: signal.Signals) -> None:
        if self.is_alive:
            os.kill(self.pid, number)

    async def kill_group(self) -> None:
        """kill -9 of its process group."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        await self.ended()

    async def kill_tree(self) -> None:
        """kill -9 of it and everything it started, at once, as when the power goes."""
        victims = [psutil.Process(self.pid), *psutil.Process(self.pid).children(recursive=True)]
        for victim in victims:
            with suppress(psutil.NoSuchProcess):
                victim.send_signal(signal.SIGKILL)
        await self.ended()

    async def stop(self) -> int:
        """Ask it to end, as ``kill`` does; returns its exit code."""
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGTERM)
        return await self.ended()

    def last_words(self) -> str:
        return " ".join(self.log_file.read_text(encoding="utf-8", errors="replace")[-1000:].split())

    async def ended(self) -> int:
        if self._process is None:
            return 0
        async with asyncio.timeout(END_S):
            code = await self._process.wait()
        self.exit_codes.append(code)
        return code


def mentioning(folder: Path) -> list[psutil.Process]:
    """Every living process that belongs to a folder: by its arguments or by where it works."""
    where = str(folder)
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.pid == os.getpid() or process.status() == psutil.STATUS_ZOMBIE:
                continue
            if process.cwd().startswith(where) or any(where in part for part in process.cmdline()):
                found.append(process)
    return found


async def gone(folder: Path, *, within_s: float) -> list[str]:
    """Wait until no process of the folder is left; returns what is still there, in words."""
    with suppress(TimeoutError):
        async with asyncio.timeout(within_s):
            while mentioning(folder):  # noqa: ASYNC110 - nobody tells us when a stranger ends
                await asyncio.sleep(LOOK_EVERY_S)
    left = []
    for process in mentioning(folder):
        with suppress(psutil.Error):
            left.append(f"{process.pid} {' '.join(process.cmdline())[:80]}")
    return left


def kill_all(folder: Path) -> None:
    """The last broom of a scenario that went wrong."""
    for process in mentioning(folder):
        with suppress(psutil.NoSuchProcess):
            process.kill()
