"""A webhook on loopback that remembers what it was told, and answers as it is bid."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from aiohttp import web

LOOPBACK = ("127.0.0.0/8",)

Answer = Callable[[dict[str, Any]], int]


class Receiver:
    def __init__(self) -> None:
        self.told: list[dict[str, Any]] = []
        """What it took, in order; also what it took twice."""
        self.tried = 0
        self.headers: list[dict[str, str]] = []
        self.bodies: list[bytes] = []
        self.answer: Answer = lambda _: 200
        self.url = ""

    def notes(self) -> list[str]:
        return [event["payload"]["note"] for event in self.told]

    async def _take(self, request: web.Request) -> web.Response:
        self.tried += 1
        body = await request.read()
        event = msgspec.json.decode(body)
        status = self.answer(event)
        if status < 300:
            self.told.append(event)
            self.headers.append(dict(request.headers))
            self.bodies.append(body)
        return web.Response(status=status, text="as I was bid", headers={"Location": self.url})


@asynccontextmanager
async def receiving() -> AsyncIterator[Receiver]:
    receiver = Receiver()
    app = web.Application()
    app.router.add_post("/hook", receiver._take)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    receiver.url = f"http://127.0.0.1:{port}/hook"
    try:
        yield receiver
    finally:
        await runner.cleanup()


def first_of_each(told: list[dict[str, Any]]) -> dict[str, list[str]]:
    """By aggregate the notes as they came, each where it came first."""
    seen: set[str] = set()
    notes: dict[str, list[str]] = {}
    for event in told:
        if event["id"] not in seen:
            seen.add(event["id"])
            notes.setdefault(event["aggregateId"], []).append(event["payload"]["note"])
    return notes
