"""Sync tasks run in daemon threads: one that never returns must not keep the process alive."""

import asyncio
import contextvars
import threading
from collections.abc import Callable
from contextlib import suppress


async def in_thread(function: Callable[..., object], *arguments: object) -> object:
    """What the function returns or raises. Whoever is cancelled here waits no longer; the thread runs on."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[tuple[object, BaseException | None]] = loop.create_future()
    context = contextvars.copy_context()

    def settle(result: object, error: BaseException | None) -> None:
        if not answer.done():
            answer.set_result((result, error))

    def work() -> None:
        result: object = None
        error: BaseException | None = None
        try:
            result = context.run(function, *arguments)
        except BaseException as raised:  # noqa: BLE001 - it belongs to whoever waits
            error = raised
        with suppress(RuntimeError):  # the loop is gone: nobody waits any more
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=work, name=getattr(function, "__name__", "task"), daemon=True).start()
    result, error = await answer
    if error is not None:
        raise error  # not through the future, which refuses a StopIteration
    return result
