"""A ``shoal up`` and nodes beside it, all real processes; what they compute is known beforehand."""

import asyncio
import functools
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

from examples.fleet.app import app
from shoal import try_engine
from shoal.cli.client import Client, open_client
from shoal.roles.config import Given
from shoal.roles.up import free_port
from shoal.wire.jobs import JobView
from shoal.wire.nodes import NodeView
from tests.scenarios.cluster import Up
from tests.scenarios.processes import Launched

APP = "examples.fleet.app:app"
JOB_S = 120.0
LOOK_EVERY_S = 0.1

Answer = TypeVar("Answer")

FIGHT = {
    "spells": {
        "combustion": {"boost": 1.3, "boost_s": 12, "cooldown_s": 60, "mana": 40},
        "fireball": {"damage": 5000, "cast_s": 2.0, "mana": 14},
        "scorch": {"damage": 2200, "cast_s": 1.5},
    },
    "rotation": "combustion if mana >= 60\nfireball if combustion.active > 0\nscorch if mana < 30\nfireball",
    "seconds": 30,
}


class FleetNode(Launched):
    """``shoal node run``, with a folder of its own in which it is the same node again."""

    def __init__(self, place: "Place", number: int, *more: str) -> None:
        self.name = f"node-{number}"
        self.folder = place.folder / self.name
        super().__init__(
            [
                *["node", "run", "--engines", APP, "--claim", "--name", self.name, "--parallel", "1"],
                *[
                    "--dir",
                    str(self.folder),
                    "--data-dir",
                    str(place.data),
                    "--set",
                    "node_heartbeat_s=1",
                    *more,
                ],
            ],
            log_file=place.folder / f"{self.name}.log",
            environment={},
            ready=b"ready",
        )


class Place:
    def __init__(self, folder: Path, *arguments: str) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.port = free_port("127.0.0.1")
        self.url = f"http://127.0.0.1:{self.port}"
        self.up = Up(
            [
                *["up", "--port", str(self.port), "--data-dir", str(self.data), "--app", APP],
                *["--set", "fleet_silence_s=5", *arguments],
            ],
            log_file=folder / "up.log",
            environment={},
            ready=b"ready at",
        )
        self.nodes: list[FleetNode] = []
        self._client: Client | None = None
        self._opened = ExitStack()

    async def node(self, *more: str) -> FleetNode:
        """One more, that is there and claimed."""
        node = FleetNode(self, len(self.nodes) + 1, *more)
        self.nodes.append(node)
        await node.start()
        await self.until(lambda: any(one.name == node.name for one in self._asked(_listing)))
        return node

    async def start_job(self, *, iterations: int, chunks: int, seed: int = 0) -> JobView:
        params = {
            "fight": FIGHT,
            "iterations": iterations,
            "chunk_size": -(-iterations // chunks),
            "seed": seed,
        }
        request = {"type": "fights", "params": params}
        return await self.ask(lambda client: client.start_job(request, None))

    async def result(self, job: JobView) -> Any:
        running = {"queued", "processing"}
        await self.until(lambda: self._asked(_reading(job)).status not in running, within_s=JOB_S)
        ended = await self.ask(_reading(job))
        assert ended.status == "complete", ended.error
        return ended.result

    def known_nodes(self) -> list[NodeView]:
        return self._asked(_listing)

    async def list_nodes(self) -> list[NodeView]:
        return await self.ask(_listing)

    async def holders(self) -> list[FleetNode]:
        """Those of whom the server believes that they have work."""
        busy = {node.name for node in await self.list_nodes() if node.backlog}
        return [node for node in self.nodes if node.name in busy and node.is_alive]

    async def until(self, condition: Callable[[], bool], *, within_s: float = 30.0) -> None:
        async with asyncio.timeout(within_s):
            while not await asyncio.to_thread(condition):  # noqa: ASYNC110 - of other processes
                await asyncio.sleep(LOOK_EVERY_S)

    async def ask(self, ask: Callable[[Client], Answer]) -> Answer:
        return await asyncio.to_thread(self._asked, ask)

    def _asked(self, ask: Callable[[Client], Answer]) -> Answer:
        if self._client is None:
            given = Given(flags={"data_dir": str(self.data)})
            self._client = self._opened.enter_context(open_client(given))
        return ask(self._client)

    def close(self) -> None:
        self._opened.close()


def _listing(client: Client) -> list[NodeView]:
    return client.list_nodes(None).nodes


def _reading(job: JobView) -> Callable[[Client], JobView]:
    return lambda client: client.read_job(job.id)


@functools.cache
def known_answer(iterations: int, seed: int = 0) -> dict[str, Any]:
    """What one process says, without any fleet."""
    answer: dict[str, Any] = try_engine(app, "dps", FIGHT, iterations=iterations, seed=seed)
    return answer
