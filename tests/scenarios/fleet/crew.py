"""A process with several nodes in it: ``python -m tests.scenarios.fleet.crew FOLDER URL NODES TOKEN``.

Says ``ready`` when all of them are registered and belong to whom the token names. Its nodes keep what they
keep in FOLDER: started again, they are the same nodes.
"""

import asyncio
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import msgspec

from shoal.node.agent import NodeAgent
from shoal.node.chunks import Computed, Ending, iterations_of
from shoal.node.folder import NodeFolder
from shoal.node.settings import NodeSettings
from shoal.roles import node as role
from shoal.runtime.logs import LogSettings, configure_logs
from shoal.wire.fleet import HeldChunk, Registered
from tests.scenarios.apps.dice import dice

HEARTBEAT_S = 1.0
DRAIN_S = 2.0


class InThisProcess:
    """Computes chunks here, one after the other for each node: in the place of ``Processes``."""

    def __init__(self, *_: object, **__: object) -> None:
        pass

    async def compute(
        self, chunk: HeldChunk, config: Any, _memory_mb: int | None, moved: Callable[[int], None]
    ) -> Ending:
        await asyncio.sleep(config["pause_s"])
        result = dice.compute(config | {"pause_s": 0.0}, iterations_of(chunk))
        moved(chunk.iterations)
        return Computed(msgspec.to_builtins(result))

    def kill(self) -> None:
        pass


class Crew:
    def __init__(self, folder: Path, url: str, nodes: int, token: str) -> None:
        self._api = httpx.AsyncClient(
            base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=30, trust_env=False
        )
        self._left = nodes
        self._ready = asyncio.Event()
        self._stopping: list[asyncio.Task[None]] = []
        self._agents = [self._agent(folder / f"node-{number}", url) for number in range(nodes)]

    def _agent(self, folder: Path, url: str) -> NodeAgent:
        place = NodeFolder(folder)
        place.hold()
        return role.build_agent(
            NodeSettings(node_dir=folder, node_parallel=1, node_heartbeat_s=HEARTBEAT_S),
            place,
            url=url,
            engines=[dice],
            references=["tests.scenarios.apps.dice:app"],
            drain_s=DRAIN_S,
            on_registered=self._on_registered,
        )

    async def _on_registered(self, registered: Registered) -> None:
        """Give it to its owner and open it to everybody; what a person would do once."""
        if registered.claim_code is not None:
            await self._insist("POST", "/api/nodes/claim", {"claimCode": registered.claim_code})
            access = {"access": [{"accessType": "public"}]}
            await self._insist("PUT", f"/api/nodes/{registered.id}/access", access)
        self._left -= 1
        if self._left == 0:
            self._ready.set()

    async def _insist(self, method: str, path: str, body: dict[str, Any]) -> None:
        while True:
            try:
                answer = await self._api.request(method, path, json=body)
                if answer.status_code < 500 and answer.status_code != httpx.codes.TOO_MANY_REQUESTS:
                    assert answer.is_success, answer.text
                    return
            except httpx.HTTPError:
                pass
            await asyncio.sleep(0.5)

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop)
        async with asyncio.TaskGroup() as group:
            for agent in self._agents:
                group.create_task(agent.run())
            group.create_task(self._say_ready())

    async def _say_ready(self) -> None:
        await self._ready.wait()
        sys.stdout.write("ready\n")
        sys.stdout.flush()

    def _stop(self) -> None:
        self._stopping = [asyncio.create_task(agent.stop()) for agent in self._agents]
        self._ready.set()


def main() -> None:
    folder, url, nodes, token = sys.argv[1:]
    configure_logs(LogSettings(log_level="warning", log_format="json"))
    # One process for five nodes is enough here.
    role.Processes = InThisProcess  # type: ignore[assignment,attr-defined]
    asyncio.run(Crew(Path(folder), url, int(nodes), token).run())


if __name__ == "__main__":
    main()
