"""A desk, and agents in this very process that work for it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from shoal.node.folder import NodeFolder
from shoal.node.settings import NodeSettings
from shoal.roles.node import build_agent
from shoal.runtime.clock import SystemClock
from shoal.wire.fleet import Registered

from .desk import DEADLINE_S, Desk, serve_desk
from .engines import REFERENCE, app


class WrongClock(SystemClock):
    def __init__(self, ahead_s: float) -> None:
        self._ahead = timedelta(seconds=ahead_s)

    def now(self) -> datetime:
        return super().now() + self._ahead


class RunningNode:
    """The agent with all its parts, as the role builds them."""

    def __init__(self, folder: Path, url: str, *, drain_s: float, ahead_s: float, **settings: Any) -> None:
        self.folder = NodeFolder(folder)
        self.folder.hold()
        self.registered: list[Registered] = []
        given = {"node_parallel": 1, "node_heartbeat_s": 0.3, **settings}
        own = NodeSettings(node_dir=folder, **given)
        self.agent = build_agent(
            own,
            self.folder,
            url=url,
            engines=app.engines.values(),
            references=[REFERENCE],
            drain_s=drain_s,
            on_registered=self.on_registered,
            own_clock=WrongClock(ahead_s),
        )
        self.running = asyncio.create_task(self.agent.run())

    async def on_registered(self, registered: Registered) -> None:
        self.registered.append(registered)

    @property
    def kept(self) -> int:
        """Results on the disk."""
        return len(list(self.folder.results.glob("*.json")))

    async def stop(self) -> None:
        await self.agent.stop()
        async with asyncio.timeout(DEADLINE_S):
            await asyncio.wait({self.running})
        self.folder.release()

    async def ended(self) -> None:
        """Raises what it ended by."""
        async with asyncio.timeout(DEADLINE_S):
            await self.running


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    async with serve_desk(Desk()) as desk:
        yield desk


StartNode = Callable[..., RunningNode]


@pytest.fixture
async def start_node(desk: Desk, tmp_path: Path) -> AsyncIterator[StartNode]:
    """``start_node(url=…, drain_s=…, node_parallel=…)``; all in one folder, so one at a time."""
    nodes: list[RunningNode] = []

    def start(*, url: str = "", drain_s: float = 5.0, ahead_s: float = 0.0, **settings: Any) -> RunningNode:
        given = {"drain_s": drain_s, "ahead_s": ahead_s, **settings}
        nodes.append(RunningNode(tmp_path / "node", url or desk.url, **given))
        return nodes[-1]

    yield start
    for node in nodes:
        if not node.running.done():
            with suppress(TimeoutError):
                await node.stop()
