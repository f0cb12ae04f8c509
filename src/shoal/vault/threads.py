"""Blocking work in a thread, whose end is always awaited."""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What ``work`` returns. When cancelled, first wait until the thread is through.

    ``asyncio.to_thread`` leaves at once. What comes next would then close files that the thread
    still writes to, and their numbers may by then belong to somebody else.
    """
    task = asyncio.ensure_future(asyncio.to_thread(work, *args, **kwargs))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            try:
                await asyncio.wait({task})
            except asyncio.CancelledError:
                continue
        if not task.cancelled():
            task.exception()  # seen: it gives way to the cancellation
        raise
