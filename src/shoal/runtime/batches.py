"""Batches formed by whatever is there: one call is under way at a time, and carries all that came in.

When it is quiet, an item goes alone and at once; under load, a batch is what gathered while the last
call ran. Nothing ever waits for a timer.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")


class Batches(Generic[Item, Answer]):
    """Joins concurrent ``submit`` calls into calls of ``send``, which answers item by item."""

    def __init__(self, send: Callable[[Sequence[Item]], Awaitable[Sequence[Answer]]], *, limit: int) -> None:
        self._send = send
        self._limit = limit
        self._waiting: list[tuple[Item, asyncio.Future[Answer]]] = []
        self._sending: asyncio.Task[None] | None = None

    async def submit(self, item: Item) -> Answer:
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, answer))
        if self._sending is None:
            self._sending = asyncio.create_task(self._send_waiting())
        return await answer

    async def _send_waiting(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting[: self._limit], self._waiting[self._limit :]
                await self._send_one(batch)
        finally:
            self._sending = None

    async def _send_one(self, batch: list[tuple[Item, asyncio.Future[Answer]]]) -> None:
        try:
            answers = await self._send([item for item, _ in batch])
            answered = list(zip(batch, answers, strict=True))
        except Exception as error:  # noqa: BLE001 - it belongs to those who wait
            for _, future in batch:
                if not future.done():
                    future.set_exception(error)
            return
        for (_, future), answer in answered:
            if not future.done():
                future.set_result(answer)
