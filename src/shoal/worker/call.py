"""Calling the function of a task: where, with what, and for how long."""

import asyncio
from collections.abc import Sequence

from shoal.app.context import Context
from shoal.app.task import Task
from shoal.worker.arguments import arguments_of
from shoal.worker.meaning import TookTooLong
from shoal.worker.outputs import written_output
from shoal.worker.processes import Processes
from shoal.worker.threads import Threads


class Places:
    """Where tasks run that are not on the event loop."""

    def __init__(self, apps: Sequence[str], *, concurrency: int) -> None:
        self.threads = Threads(concurrency)
        self.processes = Processes(apps)


async def call(task: Task, context: Context, timeout_s: float | None, places: Places) -> str | None:
    """Run the task and return its output as written JSON; None for no output.

    When its time is up, an async task is cancelled and a process is killed. A thread cannot be stopped from
    outside: it is told through ``context.cancelled``, and what it returns is ignored.
    """
    if timeout_s is None:
        return await _call(task, context, places)
    try:
        async with asyncio.timeout(timeout_s) as limit:
            return await _call(task, context, places)
    except TimeoutError as error:
        if not limit.expired():  # one of the task's own
            raise
        context.cancelled = True
        raise TookTooLong(f"The task took longer than its limit of {timeout_s:g} s.") from error


async def _call(task: Task, context: Context, places: Places) -> str | None:
    if task.run_in == "process":
        return await places.processes.run(task, context)
    arguments = arguments_of(task, context)
    running = task.function(*arguments) if task.is_async else places.threads.run(task.function, arguments)
    return written_output(task, await running)
