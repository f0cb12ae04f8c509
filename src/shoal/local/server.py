"""One server process on one directory: found and adopted, or launched; watched; ended."""

import asyncio
import os
import subprocess
import time
from abc import abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from enum import Enum, auto
from pathlib import Path
from typing import ClassVar

import psutil
import structlog

from shoal.local.account import Account
from shoal.local.processes import Farewell, end, is_alive, processes_in
from shoal.local.server_log import advise, explain, open_log
from shoal.local.sockets import is_socket_directory, make_private
from shoal.runtime.errors import Invalid, Unavailable
from shoal.runtime.lifecycle import Part

log = structlog.get_logger(__name__)

_POLL_S = 0.02
_WATCH_S = 0.5
_READY_S = 60.0
"""Crash recovery may take long."""
_SILENT_S = 10.0
"""A server that was found and does not even say that it is starting is given up after this."""
_REAPED_S = 5.0
_SHORT_LIFE_S = 10.0
_MOST_SHORT_LIVES = 3
"""A server that ends so many times in a row sooner than this after it was ready stays down."""

_KEPT_ENVIRONMENT = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")


class Answer(Enum):
    """What a server says when it is asked whether it can be used."""

    READY = auto()
    STARTING = auto()
    NONE = auto()


class EmbeddedServer(Part):
    """What PostgreSQL and Valkey have in common as children of ours."""

    title: ClassVar[str]
    processes: ClassVar[tuple[str, ...]]
    farewell: ClassVar[Farewell]
    hint: ClassVar[str] = ""

    def __init__(self, home: Path, *, sockets: Path, log_file: Path) -> None:
        self.home = home.resolve()
        self._sockets = sockets
        self._log_file = log_file
        self._account = Account()
        self._process: psutil.Process | None = None
        self._child: subprocess.Popen[bytes] | None = None
        self._ready_at = 0.0
        self._short_lives = 0
        self._changing = asyncio.Lock()
        self._stopping = asyncio.Event()

    @property
    def pid(self) -> int | None:
        """The server's process, launched or adopted; None before ``start`` and after ``stop``."""
        return self._process.pid if self._process else None

    async def start(self) -> None:
        self._stopping.clear()
        async with self._changing:
            await self._bring_up()

    async def run(self) -> None:
        """Start the server again when it ends by itself, unless it never got going."""
        while not self._stopping.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), _WATCH_S)
            async with self._changing:
                if self._stopping.is_set() or (self._process and is_alive(self._process)):
                    continue
                lived_s = time.monotonic() - self._ready_at
                self._short_lives = self._short_lives + 1 if lived_s < _SHORT_LIFE_S else 0
                if self._short_lives >= _MOST_SHORT_LIVES:
                    raise self._failure("ends again and again as soon as it is ready", self._output(0))
                log.error("server ended by itself; starting it again", server=self.name)
                await self._bring_up()

    async def stop(self) -> None:
        self._stopping.set()
        async with self._changing:
            if self._process is not None:
                await end([self._process], self.farewell)
                await self._end_orphans()
            await self._forget()

    async def stop_leftover(self) -> int | None:
        """End a server that somebody else launched on this directory; its pid, if there was one."""
        self._process = self._running()
        pid = self.pid
        await self.stop()
        return pid

    # What each kind of server says about itself.

    @property
    @abstractmethod
    def working_directory(self) -> Path:
        """Where the server changes to; what it is recognised by."""

    @abstractmethod
    def _command(self) -> list[str]: ...

    @abstractmethod
    def _prepare(self) -> None:
        """Make the directory one that the server can start on. May block; runs in a thread."""

    @abstractmethod
    def _clear_stale(self) -> None:
        """Remove what a dead server left behind that would keep the next one from starting."""

    @abstractmethod
    async def _ask(self) -> Answer: ...

    async def _complete(self) -> None:
        """What remains to be done once the server answers."""

    # The same for all.

    async def _bring_up(self) -> None:
        await self._forget()
        try:
            self._check_sockets()
            await asyncio.to_thread(self._prepare)
            if not await self._adopt():
                await self._end_orphans()
                await self._launch()
            await self._complete()
        except OSError as error:
            raise self._failure("could not be started", str(error)) from error
        self._ready_at = time.monotonic()

    async def _forget(self) -> None:
        if self._child is not None:
            # A child that ended stays in the process table until asked; and one that is a zombie
            # already may have threads that still end, with what they hold open.
            with suppress(subprocess.TimeoutExpired):
                await asyncio.to_thread(self._child.wait, _REAPED_S)
        self._process = self._child = None

    def _check_sockets(self) -> None:
        if not is_socket_directory(self._sockets):
            raise Invalid(
                "socket_path_too_long",
                f"The path {self._sockets} is too long, or not plain enough, for a socket.",
                hint="Choose a shorter one of letters, digits, dots, dashes and underscores.",
            )
        make_private(self._sockets)

    async def _adopt(self) -> bool:
        """Go on with a server that runs just as we would start it, and answers."""
        found = self._running()
        if found is None:
            return False
        self._process = found
        if _command_of(found) == self._command() and await self._became_ready(_SILENT_S):
            log.info("adopted a running server", server=self.name, pid=found.pid)
            return True
        log.warning("stopping a server that cannot be adopted", server=self.name, pid=found.pid)
        await end([found], self.farewell)
        self._process = None
        return False

    def _running(self) -> psutil.Process | None:
        """The server on our directory; not a process that it forked."""
        found = processes_in(self.working_directory, self.processes)
        family = {process.pid for process in found}
        for process in found:
            # PostgreSQL's processes but the first have titles of another form.
            if str(self.working_directory) in _command_of(process):
                with suppress(psutil.NoSuchProcess):
                    if process.ppid() not in family:
                        return process
        return None

    async def _end_orphans(self) -> None:
        """End what outlived a server that was killed, then clear what it left on disk."""
        await end(processes_in(self.working_directory, self.processes), self.farewell[-1:])
        self._clear_stale()

    async def _launch(self) -> None:
        log_start = self._launch_process()
        if not await self._became_ready(_READY_S) and not self._stopping.is_set():
            ended = self._child is None or self._child.poll() is not None
            what = "did not start" if ended else f"did not answer within {_READY_S:.0f} s"
            raise self._failure(what, self._output(log_start))
        log.info("launched a server", server=self.name, pid=self.pid)

    def _launch_process(self) -> int:
        with open_log(self._log_file) as output:
            log_start = output.tell()
            self._child = subprocess.Popen(
                [*self._account.prefix, *self._command()],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self.home,
                env=environment(),
                start_new_session=True,
                **self._account.identity,
            )
        # Cannot fail: a child that ended at once is still in the process table.
        self._process = psutil.Process(self._child.pid)
        return log_start

    async def _became_ready(self, silent_s: float) -> bool:
        now = time.monotonic()
        deadline, silent_until = now + _READY_S, now + silent_s
        while not self._stopping.is_set() and self._process and is_alive(self._process):
            answer = await self._ask()
            if answer is Answer.READY:
                return True
            now = time.monotonic()
            if now > deadline or (answer is Answer.NONE and now > silent_until):
                return False
            await asyncio.sleep(_POLL_S)
        return False

    def _output(self, start: int) -> str:
        with suppress(OSError), self._log_file.open("rb") as file:
            file.seek(start)
            return file.read()[-16384:].decode(errors="replace")
        return ""

    def _failure(self, what: str, output: str) -> Unavailable:
        reason = explain(output, self.home)
        advice = advise(reason, self._log_file)
        return Unavailable(
            f"{self.name}_failed_to_start",
            f"{self.title} {what}: {reason}.",
            hint=f"{self.hint}{advice}",
        )


def _command_of(process: psutil.Process) -> list[str]:
    with suppress(psutil.NoSuchProcess):
        return process.cmdline()
    return []


def environment() -> Mapping[str, str]:
    """Nothing of ours but where programs are: settings and secrets stay out of the children."""
    kept = {name: os.environ[name] for name in _KEPT_ENVIRONMENT if name in os.environ}
    return {**kept, "LC_ALL": "C", "TZ": "UTC"}
