"""Processes of tasks: made when one is needed, used again, killed when their task has to stop.

When the worker dies, also by kill -9, they die with it (``runtime.child_process``).
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from shoal.app.context import Context
from shoal.app.task import Task
from shoal.runtime.child_process import ChildProcess, start_child
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
    def __init__(self, process: ChildProcess) -> None:
        self._process = process

    @property
    def is_alive(self) -> bool:
        return self._process.is_alive

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
        self._process.kill()

    def _say(self, message: FromWorker) -> None:
        self._process.say(line_of(message))

    async def _hear(self) -> FromTask:
        line = await self._process.hear()
        if line is None:
            how = await self._process.death()
            raise Unavailable("task_process_died", f"The process of the task {how}.")
        return from_task(line)


async def start_process() -> TaskProcess:
    return TaskProcess(await start_child("shoal.worker.child", longest_line=LONGEST_LINE))


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
