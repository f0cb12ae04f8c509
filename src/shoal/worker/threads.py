"""Sync tasks run in daemon threads: one that never returns must not keep the process alive.

Threads are used again. Calls wait in line for a free one, and what has ended comes back together: the
event loop is woken once for all that ended since it last looked.
"""

import asyncio
import contextvars
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, TypeVar

Result = TypeVar("Result")


class Call:
    """One call of a function. ``is_running`` and what came of it are written by its thread."""

    __slots__ = ("answer", "arguments", "context", "error", "function", "is_given_up", "is_running", "result")

    def __init__(
        self, function: Callable[..., object], arguments: Sequence[Any], answer: "asyncio.Future[None]"
    ) -> None:
        self.function = function
        self.arguments = arguments
        self.context = contextvars.copy_context()
        self.answer = answer
        self.is_running = False
        self.is_given_up = False
        self.result: Any = None
        self.error: BaseException | None = None

    def run(self) -> None:
        self.is_running = True
        if self.answer.done():  # nobody waits for it any more
            return
        try:
            self.result = self.context.run(self.function, *self.arguments)
        except BaseException as error:  # noqa: BLE001 - it belongs to whoever waits
            self.error = error


class Threads:
    """At most ``most`` calls run at a time; those that nobody waits for any more are not counted."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._calls: SimpleQueue[Call] = SimpleQueue()
        self._awaited = 0
        self._at_work = 0
        self._ended: deque[Call] = deque()
        self._is_woken = False
        self._loop: asyncio.AbstractEventLoop | None = None

    async def run(self, function: Callable[..., Result], arguments: Sequence[Any]) -> Result:
        """What the function returns or raises. Whoever is cancelled waits no longer; the thread goes on."""
        self._loop = asyncio.get_running_loop()
        call = Call(function, arguments, self._loop.create_future())
        self._awaited += 1
        self._calls.put(call)
        self._start_one_if_needed()
        try:
            await call.answer
        except asyncio.CancelledError:
            if call.is_running:
                self._give_up(call)
            raise
        if call.error is not None:
            raise call.error  # not through the future, which refuses a StopIteration
        result: Result = call.result
        return result

    def _start_one_if_needed(self) -> None:
        if self._at_work < min(self._awaited, self._most):
            self._at_work += 1
            threading.Thread(target=self._work, name="task", daemon=True).start()

    def _give_up(self, call: Call) -> None:
        """Its thread may never come back: another one takes its place."""
        call.is_given_up = True
        self._awaited -= 1
        self._at_work -= 1
        self._start_one_if_needed()

    def _work(self) -> None:
        while True:
            call = self._calls.get()
            call.run()
            self._ended.append(call)
            if not self._is_woken and self._loop is not None:
                self._is_woken = True
                with suppress(RuntimeError):  # the loop is gone: nobody waits any more
                    self._loop.call_soon_threadsafe(self._settle)

    def _settle(self) -> None:
        self._is_woken = False  # first: what ends from now on wakes us again
        while self._ended:
            call = self._ended.popleft()
            if call.is_given_up:
                self._at_work += 1  # back again
                continue
            self._awaited -= 1
            if not call.answer.done():
                call.answer.set_result(None)
