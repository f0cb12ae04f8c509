"""The process of a task: runs one task after the other, and dies with its worker.

``python -m shoal.worker.child WIRE LIFELINE``: two file descriptors. Messages go over the wire. Nothing
ever comes through the lifeline: it ends when the worker does, however that came about.
"""

import asyncio
import os
import queue
import socket
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any

import msgspec

from shoal.app.artifact import Artifact
from shoal.app.context import Context
from shoal.app.references import imported_apps
from shoal.app.task import Task
from shoal.app.task_log import TaskLog
from shoal.ledger.text import storable
from shoal.runtime.limits import die_with, limited_memory
from shoal.runtime.logs import LogSettings, configure_logs
from shoal.worker.arguments import arguments_of
from shoal.worker.meaning import meaning_of
from shoal.worker.messages import (
    Completed,
    Failed,
    FromTask,
    Logged,
    Made,
    Progressed,
    Run,
    from_worker,
    line_of,
)
from shoal.worker.outputs import written_output

TELL_EVERY_S = 0.2


class TaskRunner:
    """The main thread runs tasks, a second one hears the worker, a third one tells the progress."""

    def __init__(self, wire: socket.socket) -> None:
        self._wire = wire
        self._saying = threading.Lock()
        self._runs: queue.SimpleQueue[Run] = queue.SimpleQueue()
        self._moved = threading.Event()
        self._context: RemoteContext | None = None
        self._running: tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]] | None = None

    def serve(self) -> None:
        for work in (self._hear, self._tell_progress):
            threading.Thread(target=work, daemon=True).start()
        while True:
            run = self._runs.get()
            ending = self._run(run)
            with self._saying:
                self._context = None
                self._wire.sendall(line_of(ending))

    def say(self, message: FromTask) -> None:
        with self._saying:
            self._wire.sendall(line_of(message))

    def move(self) -> None:
        """The task says how far it is: told at once, but not more than five times a second."""
        self._moved.set()

    def _hear(self) -> None:
        try:
            for line in self._wire.makefile("rb"):
                message = from_worker(line)
                if isinstance(message, Run):
                    self._runs.put(message)
                else:
                    self._stop()
        finally:
            os._exit(1)  # nobody is left who could be told anything

    def _stop(self) -> None:
        if self._context is not None:
            self._context.cancelled = True
        if self._running is not None:
            loop, task = self._running
            loop.call_soon_threadsafe(task.cancel)

    def _tell_progress(self) -> None:
        while self._moved.wait():
            self._moved.clear()
            with self._saying:
                if self._context is not None:
                    said = Progressed(self._context.fraction, storable(self._context.message))
                    self._wire.sendall(line_of(said))
            time.sleep(TELL_EVERY_S)

    def _run(self, run: Run) -> Completed | Failed:
        self._context = context = RemoteContext(self, run)
        try:
            task = find_task(run)
            with limited_memory(run.memory_mb):
                output = written_output(task, self._call(task, context))
                for number, artifact in enumerate(context.artifacts):
                    self.say(made(artifact, context.workdir / f".artifact-{number}"))
        except BaseException as error:  # noqa: BLE001 - also what would end this process
            meaning = meaning_of(error)
            trace = storable(traceback.format_exc()) if meaning.is_surprise else ""
            return Failed(msgspec.structs.replace(meaning, text=storable(meaning.text)), trace)
        return Completed(output)

    def _call(self, task: Task, context: Context) -> object:
        arguments = arguments_of(task, context)
        if not task.is_async:
            return task.function(*arguments)

        async def call() -> object:
            current = asyncio.current_task()
            if current is not None:
                self._running = asyncio.get_running_loop(), current
            try:
                return await task.function(*arguments)
            finally:
                self._running = None

        return asyncio.run(call())


class RemoteContext(Context):
    """What it is told goes to the worker."""

    def __init__(self, runner: TaskRunner, run: Run) -> None:
        super().__init__(
            job_id=run.job_id,
            task_id=run.task_id,
            name=run.name,
            attempt=run.attempt,
            max_attempts=run.max_attempts,
            input=run.input,
            needs=run.needs,
        )
        self._runner = runner
        self.workdir = Path(run.workdir)
        self.log = RemoteLog(runner)

    def progress(self, fraction: float, message: str = "") -> None:
        super().progress(fraction, message)
        self._runner.move()


class RemoteLog(TaskLog):
    """The worker writes the lines, with those of its other tasks."""

    def __init__(self, runner: TaskRunner) -> None:
        super().__init__()
        self._runner = runner

    def _write(self, level: str, message: str, fields: dict[str, Any]) -> None:
        written = {name: storable(str(value)) for name, value in fields.items()}
        self._runner.say(Logged(level, storable(message), written))


def find_task(run: Run) -> Task:
    """As the worker has found it: its apps were looked up from the same places."""
    sys.path[:] = run.paths
    for app in imported_apps(run.apps):
        if run.task_type in app.tasks:
            return app.tasks[run.task_type]
    raise LookupError(f"none of the apps {', '.join(run.apps)} declares {run.task_type}")


def made(artifact: Artifact, file: Path) -> Made:
    """The artifact, in a file: what is not one yet is written into this one."""
    source = artifact.source
    if isinstance(source, Path):
        file = source.absolute()
    elif isinstance(source, bytes):
        file.write_bytes(source)
    else:
        asyncio.run(_write_blocks(source, file))
    return Made(
        name=artifact.name,
        path=str(file),
        type=artifact.type,
        content_type=artifact.content_type,
        duration_seconds=artifact.duration_seconds,
        fallback_for=artifact.fallback_for,
    )


async def _write_blocks(source: Any, file: Path) -> None:
    with file.open("wb") as target:
        async for block in source:
            target.write(block)


def main() -> None:
    wire, lifeline = (int(number) for number in sys.argv[1:])
    die_with(lifeline)
    os.dup2(2, 1)  # the worker's stdout is not the task's
    configure_logs(LogSettings())
    TaskRunner(socket.socket(fileno=wire)).serve()


if __name__ == "__main__":
    main()
