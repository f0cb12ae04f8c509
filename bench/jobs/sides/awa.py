"""awa: ``enqueue_many_copy``, and one queue with many workers."""

from dataclasses import dataclass
from typing import Any

import awa
import uvloop

from bench.jobs.sides.protocol import Runs, Settings, Side, drive

QUEUE = "bench"


@dataclass
class Noop:
    n: int


class Awa(Side):
    _client: Any = None
    _batches: list[list[Noop]]

    def __init__(self, url: str, ran: Runs) -> None:
        super().__init__(
            url.replace("@/", "@localhost/", 1), ran
        )  # its driver insists on a host, to ignore it

    async def install(self) -> None:
        await awa.migrate(self.url)
        # Its first worker switches a fresh schema to the storage that COPY writes to.
        await self.work({"workers": 1, "connections": 5})
        await self.rest()

    async def prepare(self, count: int, settings: Settings) -> None:
        size = settings["batch"]
        jobs = [Noop(n) for n in range(count)]
        self._batches = [jobs[at : at + size] for at in range(0, count, size)]
        self._client = self._client or awa.AsyncClient(self.url, max_connections=10)

    async def enqueue(self) -> None:
        for batch in self._batches:
            await self._client.enqueue_many_copy(batch, queue=QUEUE)

    async def enqueue_one(self) -> None:
        await self._client.insert(Noop(1), queue=QUEUE)

    async def work(self, settings: Settings) -> None:
        self._client = self._client or awa.AsyncClient(self.url, max_connections=10)
        self._worker = awa.AsyncClient(self.url, max_connections=settings["connections"])
        ran = self.ran

        async def noop(_: Any) -> None:
            ran()

        self._worker.task(Noop, queue=QUEUE)(noop)
        await self._worker.start([(QUEUE, settings["workers"])])

    async def rest(self) -> None:
        await self._worker.shutdown()
        await self._worker.close()


if __name__ == "__main__":
    drive(Awa, uvloop.new_event_loop)
