"""``shoal node run`` as a volunteer runs it: a process on a base install, killed, cut off, revoked."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest

from shoal.beacon.model import Refused
from shoal.wire.fleet import NodeError
from tests.architecture.repository import ROOT
from tests.integration.cli.shoal_command import Shoal, refused
from tests.support.least_install import make_least_install
from tests.support.wire import wire_to_web

from .desk import Desk
from .engines import REFERENCE
from .test_pool import all_gone, pids_in

END_S = 20.0
NOWHERE = ["--url", "http://127.0.0.1:9"]


class Volunteer:
    """One machine: a folder, and the process that runs in it."""

    def __init__(self, folder: Path, installed: Path) -> None:
        self.folder = folder
        self._installed = installed
        self._process: asyncio.subprocess.Process | None = None
        self.log = folder / "log"
        self.said = folder / "said"
        folder.mkdir()

    async def start(self, url: str) -> None:
        environment = {"HOME": str(self.folder), "PYTHONPATH": str(self._installed)}
        with self.log.open("ab") as log, self.said.open("wb") as said:
            self._process = await asyncio.create_subprocess_exec(
                *[sys.executable, "-S", "-m", "shoal", "node", "run", "--engines", REFERENCE, "--url", url],
                *["--dir", str(self.folder / "node"), "--parallel", "1", "--set", "node_heartbeat_s=0.3"],
                stdin=asyncio.subprocess.DEVNULL,
                stdout=said,
                stderr=log,
                cwd=ROOT,
                env={"PATH": os.environ["PATH"], **environment},
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def kept(self) -> int:
        return len(list((self.folder / "node" / "results").glob("*.json")))

    def children(self) -> list[int]:
        return [child.pid for child in psutil.Process(self.pid).children(recursive=True)]

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    async def ended(self) -> int:
        assert self._process is not None
        async with asyncio.timeout(END_S):
            return await self._process.wait()

    async def kill(self) -> None:
        with suppress(ProcessLookupError):
            self.signal(signal.SIGKILL)
        await self.ended()


@pytest.fixture(scope="module")
def least_install(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_least_install(tmp_path_factory.mktemp("base") / "site-packages")


@pytest.fixture
def shoal(tmp_path: Path) -> Shoal:
    return Shoal(tmp_path / "data")


@pytest.fixture
async def volunteer(tmp_path: Path, least_install: Path) -> AsyncIterator[Volunteer]:
    volunteer = Volunteer(tmp_path / "volunteer", least_install)
    yield volunteer
    await volunteer.kill()


async def test_a_base_install_is_enough_and_it_leaves_when_it_is_told(
    desk: Desk, volunteer: Volunteer
) -> None:
    await volunteer.start(desk.url)
    await desk.calls("heartbeat")
    assert volunteer.said.read_text().splitlines() == [
        "ready",
        f"node {desk.node_id} belongs to nobody yet; its owner-to-be runs:",
        "  shoal node claim CLAIM-ME",
    ]
    await desk.assign(one := desk.chunk())
    await desk.has_results(one)
    children = volunteer.children()
    assert children
    volunteer.signal(signal.SIGTERM)
    assert await volunteer.ended() == 0
    assert desk.farewells == 1
    await all_gone(children)


async def test_one_that_is_killed_comes_back_as_the_same_with_what_it_had(
    desk: Desk, volunteer: Volunteer, tmp_path: Path
) -> None:
    desk.config = b'{"folder": "%s"}' % str(tmp_path).encode()
    await volunteer.start(desk.url)
    await desk.calls("heartbeat")
    desk.refuse["completeChunk"] = Refused(NodeError.RATE_LIMITED, "not now", temporary=True)
    done, running = desk.chunk("where"), desk.chunk("slow", iterations=300)
    await desk.assign(done, running)
    await desk.until(lambda: volunteer.kept == 1)
    children = await pids_in(tmp_path)

    await volunteer.kill()
    await all_gone(children)
    desk.refuse.clear()
    assert desk.results == {}
    key = desk.key
    await volunteer.start(desk.url)

    await desk.has_results(done, running)
    assert desk.key == key
    computed, *_ = desk.results[done.id]["values"]
    assert computed["pid"] in children, "it was not computed again"
    await desk.until(lambda: volunteer.kept == 0)


async def test_while_the_network_is_away_it_goes_on_and_then_hands_in(
    desk: Desk, volunteer: Volunteer
) -> None:
    async with wire_to_web(desk.url) as (wire, url):
        desk.client_url = desk.client_url.replace(urlsplit(desk.url).netloc, urlsplit(url).netloc)
        await volunteer.start(url)
        await desk.calls("heartbeat")
        runs, waits, taken = (desk.chunk("slow", iterations=100) for _ in range(3))
        await desk.assign(runs, waits, taken)
        await desk.until(lambda: any(desk.heartbeats[-1].chunks.values()))
        wire.cut()
        await desk.take_back(taken, silently=True)
        await desk.until(lambda: volunteer.kept >= 2)
        assert desk.results == {}
        wire.mend()
        await desk.has_results(runs, waits)
    assert taken.id not in desk.results


async def test_a_revoked_one_says_so_and_ends(desk: Desk, volunteer: Volunteer) -> None:
    await volunteer.start(desk.url)
    await desk.calls("heartbeat")
    await desk.revoke()
    assert await volunteer.ended() == 4
    assert volunteer.log.read_text().rstrip().endswith("(node_revoked)")
    assert "revoked" in volunteer.log.read_text().splitlines()[-2]


async def test_one_that_was_asleep_for_long_is_told_what_it_still_has(
    desk: Desk, volunteer: Volunteer
) -> None:
    await volunteer.start(desk.url)
    await desk.calls("heartbeat")
    await desk.assign(lost := desk.chunk("slow", iterations=100_000), kept := desk.chunk())
    await desk.until(lambda: any(desk.heartbeats[-1].chunks.values()))
    volunteer.signal(signal.SIGSTOP)
    desk.epoch += 1
    await desk.take_back(lost, silently=True)
    await asyncio.sleep(1)
    volunteer.signal(signal.SIGCONT)
    await desk.has_results(kept)
    assert lost.id not in desk.results


@pytest.mark.parametrize(
    ("arguments", "exit_code", "code"),
    [
        (["--engines", "examples.hello:app"], 2, "no_engines"),
        (["--engines", "tests.absent:app"], 2, "app_not_found"),
        (["--engines", REFERENCE], 7, "nothing_running"),
        (
            ["--engines", REFERENCE, "--url", "http://127.0.0.1:9", "--dir", "/dev/null/x"],
            2,
            "node_dir_unusable",
        ),
    ],
)
def test_what_cannot_be_run_is_said_at_once(
    shoal: Shoal, arguments: list[str], exit_code: int, code: str
) -> None:
    refused(shoal.run("node", "run", *arguments), code=code, exit_code=exit_code)
