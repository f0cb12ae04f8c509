"""How a side is driven: one JSON object a line on stdin, one answer a line on stdout.

======================================  ======================================================
``{"do": "install"}``                   make the schema
``{"do": "enqueue", "count", "with"}``  the bulk call; answers ``{"seconds"}``
``{"do": "work", "with"}``              begin to run tasks; once the first one starts, a line
                                        ``{"began"}`` comes by itself, on the system's monotonic clock
``{"do": "rest"}``                      stop running tasks
``{"do": "pickup", "count", "with"}``   answers ``{"ms": [...]}``, one for each task
======================================  ======================================================

``with`` are the settings of that side. It needs the standard library alone: sides run in the
environments of the peers.
"""

import asyncio
import json
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

WARM_UPS = 30
IDLE_S = 0.004

Settings = dict[str, Any]


class Runs:
    """What the no-op task of a side calls: it tells whoever waits for the next run when that was."""

    def __init__(self) -> None:
        self._next: asyncio.Future[float] | None = None

    def __call__(self) -> None:
        if self._next is not None:
            self._next.set_result(time.monotonic())
            self._next = None

    def next(self) -> asyncio.Future[float]:
        self._next = asyncio.get_running_loop().create_future()
        return self._next


class Side(ABC):
    def __init__(self, url: str, ran: Runs) -> None:
        self.url = url
        self.ran = ran

    @abstractmethod
    async def install(self) -> None: ...

    @abstractmethod
    async def prepare(self, count: int, settings: Settings) -> None:
        """What a caller has at hand before it makes the bulk call."""

    @abstractmethod
    async def enqueue(self) -> None:
        """The bulk call for what was prepared."""

    @abstractmethod
    async def enqueue_one(self) -> None: ...

    @abstractmethod
    async def work(self, settings: Settings) -> None: ...

    @abstractmethod
    async def rest(self) -> None: ...


class Driver:
    def __init__(self, side: Side, ran: Runs) -> None:
        self._side = side
        self._ran = ran

    async def obey(self) -> None:
        reader = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
        )
        while line := await reader.readline():
            order = json.loads(line)
            _say(await getattr(self, f"_{order.pop('do')}")(order))

    async def _install(self, _: Settings) -> Settings:
        await self._side.install()
        return {}

    async def _enqueue(self, order: Settings) -> Settings:
        await self._side.prepare(order["count"], order["with"])
        began = time.monotonic()
        await self._side.enqueue()
        return {"seconds": time.monotonic() - began}

    async def _work(self, order: Settings) -> Settings:
        self._ran.next().add_done_callback(lambda first: _say({"began": first.result()}))
        await self._side.work(order["with"])
        return {}

    async def _rest(self, _: Settings) -> Settings:
        await self._side.rest()
        return {}

    async def _pickup(self, order: Settings) -> Settings:
        await self._side.work(order["with"])
        latencies = [await self._pick_up_one() for _ in range(WARM_UPS + order["count"])]
        await self._side.rest()
        return {"ms": latencies[WARM_UPS:]}

    async def _pick_up_one(self) -> float:
        await asyncio.sleep(IDLE_S)
        first = self._ran.next()
        began = time.monotonic()
        await self._side.enqueue_one()
        return (await first - began) * 1000


def _say(answer: Settings) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def drive(make: Callable[[str, Runs], Side], loop_factory: Callable[[], Any]) -> None:
    """Run a side for the database whose address is the first argument, until stdin closes."""

    async def obey() -> None:
        ran = Runs()
        await Driver(make(sys.argv[1], ran), ran).obey()

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(obey())
