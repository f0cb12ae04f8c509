"""Tasks beside each other, for as long as their owner lives; the first that fails says so."""

import asyncio
from collections.abc import Coroutine
from typing import Any


class TaskBag:
    """Made on the event loop."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self.failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Ends when one of them does so by an error, with that error."""

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._note_end)
        return task

    async def end(self) -> None:
        self.failure.cancel()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _note_end(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if task.cancelled() or self.failure.done():
            return
        if (error := task.exception()) is not None:
            self.failure.set_exception(error)
