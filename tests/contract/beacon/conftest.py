"""Every test here runs on the hub and on a real Centrifugo; those with visitors, with both official clients.

One of each server for the whole run: starting them takes longer than the tests. So all tests share an event
loop, and use names of their own (``stage.name``).
"""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.support.centrifugo import centrifugo_binary
from tests.support.generations import VALKEY_GENERATIONS
from tests.support.servers import Servers

from .raw import RawClient
from .stage import Stage, centrifugo_stage, hub_stage
from .visitors import NodeProcess, NodeVisitor, PythonVisitor, Visitor

BEACONS = ("hub", "centrifugo")
LANGUAGES = ("python", "javascript")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest.fixture(scope="session")
def redis_url(servers: Servers) -> str:
    return servers.valkey(VALKEY_GENERATIONS[0]).url


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def hub() -> AsyncIterator[Stage]:
    async with hub_stage() as stage:
        yield stage


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def centrifugo(tmp_path_factory: pytest.TempPathFactory, redis_url: str) -> AsyncIterator[Stage]:
    centrifugo_binary()
    async with centrifugo_stage(tmp_path_factory.mktemp("centrifugo"), redis_url) as stage:
        yield stage


@pytest.fixture(params=BEACONS)
def stage(request: pytest.FixtureRequest) -> Stage:
    found: Stage = request.getfixturevalue(request.param)
    return found


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def node() -> AsyncIterator[NodeProcess]:
    process = await NodeProcess.start()
    yield process
    await process.stop()


Invite = Callable[..., Visitor]


@pytest.fixture(params=LANGUAGES)
def foreign(request: pytest.FixtureRequest) -> NodeProcess | None:
    """Where the clients of a test run, if that is not here."""
    return None if request.param == "python" else request.getfixturevalue("node")


@pytest_asyncio.fixture(loop_scope="session")
async def invite(foreign: NodeProcess | None, stage: Stage) -> AsyncIterator[Invite]:
    """``invite(user, token=…, renew=…)`` makes a client that is not connected yet."""
    visitors: list[Visitor] = []

    def new(user: str, *, token: str = "", renew: Callable[[], str] | None = None, **claims: Any) -> Visitor:
        given = (stage.client_url, token or stage.token(user, **claims), renew)
        visitors.append(PythonVisitor(*given) if foreign is None else NodeVisitor(foreign, *given))
        return visitors[-1]

    yield new
    for visitor in visitors:
        await visitor.disconnect()


@pytest_asyncio.fixture(loop_scope="session")
async def dial(stage: Stage) -> AsyncIterator[Callable[[], Any]]:
    """``await dial()`` opens a websocket and says nothing on it yet."""
    opened: list[RawClient] = []

    async def new() -> RawClient:
        opened.append(await RawClient.open(stage.client_url))
        return opened[-1]

    yield new
    for client in opened:
        await client.close()
