"""Processes of tasks: made when one is needed, used again, killed when their task has to stop.

They are spawned, never forked: nothing of the worker but two file descriptors gets into them. When the
worker dies, also by kill -9, they die with it (``limits.py``).
"""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from shoal.app.context import Context
from shoal.app.task import Task
from shoal.runtime.errors import Unavailable
from shoal.worker.meaning import Foretold
from shoal.worker.messages import (
    LONGEST_LINE,
    Completed,
    Failed,
    FromTask,
    FromWorker,
    Logged,
    Made,
    Progressed,
    Run,
    Stop,
    from_task,
    line_of,
)

TIME_TO_STOP_S = 1.0


class Processes:
    """``apps`` are the references under which a process finds the tasks."""

    def __init__(self, apps: Sequence[str]) -> None:
        self._apps = list(apps)
        self._idle: list[TaskProcess] = []
        self._ending: set[asyncio.Task[None]] = set()
        self._all: set[TaskProcess] = set()

    async def run(self, task: Task, context: Context) -> str | None:
        """Run the task in a process of its own; its written output. Cancelling it ends the process."""
        run = Run(
            apps=self._apps,
            paths=sys.path,
            task_type=task.type,
            job_id=context.job_id,
            task_id=context.task_id,
            name=context.name,
            attempt=context.attempt,
            max_attempts=context.max_attempts,
            input=context.input,
            needs=context.needs,
            workdir=str(context.workdir),
            memory_mb=task.memory_mb,
        )
        async with self._one() as process:
            ending = await process.run(run, context)
        if isinstance(ending, Completed):
            return ending.output
        failure = Foretold(ending.meaning)
        if ending.trace:
            failure.add_note(ending.trace)
        raise failure

    @asynccontextmanager
    async def _one(self) -> "AsyncIterator[TaskProcess]":
        """A process that is used again, unless what is done with it raises."""
        self._idle = [process for process in self._idle if process.is_alive]
        process = self._idle.pop() if self._idle else await start_process()
        self._all.add(process)
        try:
            yield process
        except BaseException:
            ending = asyncio.create_task(self._end(process))
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)
            raise
        self._idle.append(process)

    async def _end(self, process: "TaskProcess") -> None:
        await process.stop()
        self._all.discard(process)

    def kill(self) -> None:
        """The worker ends: so do all of them, now."""
        for process in self._all:
            process.kill()
        self._all.clear()
        self._idle.clear()


class TaskProcess:
    def __init__(
        self,
        process: "subprocess.Popen[bytes]",
        lifeline: BinaryIO,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._process = process
        self._lifeline = lifeline
        self._reader = reader
        self._writer = writer

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    async def run(self, run: Run, context: Context) -> Completed | Failed:
        """Pass on what the task says until it has ended."""
        self._say(run)
        while True:
            message = await self._hear()
            if isinstance(message, Completed | Failed):
                return message
            _pass_on(message, context)

    async def stop(self) -> None:
        """Ask the task to stop, and kill the process when it has had its time."""
        with suppress(TimeoutError, Unavailable):
            async with asyncio.timeout(TIME_TO_STOP_S):
                self._say(Stop())
                while not isinstance(await self._hear(), Completed | Failed):
                    pass
        self.kill()

    def kill(self) -> None:
        """With all that its task has started. Doing it twice does no harm."""
        with suppress(ProcessLookupError, PermissionError):  # macOS: what has ended may not be killed
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._lifeline.close()
        self._writer.transport.abort()

    def _say(self, message: FromWorker) -> None:
        self._writer.write(line_of(message))

    async def _hear(self) -> FromTask:
        line = b""
        with suppress(ConnectionError):
            line = await self._reader.readline()
        if not line.endswith(b"\n"):
            raise await self._death()
        return from_task(line)

    async def _death(self) -> Unavailable:
        code = await asyncio.to_thread(self._process.wait)
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        return Unavailable("task_process_died", f"The process of the task {how}.")


async def start_process() -> TaskProcess:
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=ours, limit=LONGEST_LINE)
    ends, lifeline = os.pipe()
    try:
        process = subprocess.Popen(  # noqa: ASYNC220 - nothing waits for it here
            [sys.executable, "-m", "shoal.worker.child", str(theirs.fileno()), str(ends)],
            stdin=subprocess.DEVNULL,
            pass_fds=(theirs.fileno(), ends),
            start_new_session=True,
        )
    finally:
        theirs.close()
        os.close(ends)
    return TaskProcess(process, os.fdopen(lifeline, "wb"), reader, writer)


def _pass_on(message: Progressed | Logged | Made, context: Context) -> None:
    match message:
        case Progressed():
            context.progress(message.fraction, message.message)
        case Logged():
            getattr(context.log, message.level)(message.message, **message.fields)
        case Made():
            context.artifact(
                message.name,
                Path(message.path),
                type=message.type,
                content_type=message.content_type,
                duration_seconds=message.duration_seconds,
                fallback_for=message.fallback_for,
            )
