"""``shoal up`` as coordinator and origin, and agents of the mesh, as real processes."""

import asyncio
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx

from shoal.access.tokens import issue_token
from shoal.local.directory import DataDirectory
from tests.scenarios.cluster import Up
from tests.scenarios.processes import Launched, gone, kill_all

LOOK_EVERY_S = 0.1
TOKEN_LIFETIME = timedelta(hours=1)
CAP_MB_S = 6
SETTINGS = {
    "mesh_dead_after_s": 4,
    "mesh_lease_s": 4,
    "mesh_relearn_s": 3,
    "mesh_heartbeat_s": 0.5,
    "mesh_stall_s": 3,
}


class Agent(Launched):
    """``shoal mesh serve`` with a folder of its own; ``module`` is another program that does the same."""

    def __init__(self, folder: Path, data_dir: Path, name: str, *, module: str = "shoal") -> None:
        self.name = name
        self.store = folder / name
        given = ["--data-dir", str(data_dir), "--store", str(self.store)]
        for setting, value in {**SETTINGS, "mesh_down_mb_s": CAP_MB_S}.items():
            given += ["--set", f"{setting}={value}"]
        super().__init__(
            ["mesh", "serve", *given],
            log_file=folder / f"{name}.log",
            environment={"SHOAL_LOG_FORMAT": "json"},
            ready=b"ready",
            module=module,
        )

    async def kill(self) -> None:
        await self.kill_group()

    def pause(self) -> None:
        self.signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.signal(signal.SIGCONT)

    def lose_disk(self) -> None:
        shutil.rmtree(self.store)

    @property
    def whole_shards(self) -> int:
        return sum(1 for _ in self.store.glob("shards/*/*"))


class MeshCluster:
    def __init__(self, folder: Path, *, agents: int, liars: int) -> None:
        self.folder = folder
        self.directory = DataDirectory(folder / "data")
        given = ["--data-dir", str(self.directory.path)]
        for setting, value in SETTINGS.items():
            given += ["--set", f"{setting}={value}"]
        self.up_log = folder / "up.log"
        self.up = Up(
            ["up", "--port", "0", *given],
            log_file=self.up_log,
            environment={"SHOAL_LOG_FORMAT": "json"},
            ready=b"ready at",
        )
        self.agents = [
            Agent(
                folder,
                self.directory.path,
                f"agent-{number}",
                module="tests.scenarios.apps.lying_agent" if number <= liars else "shoal",
            )
            for number in range(1, agents + 1)
        ]

    async def shoal(self, *arguments: str) -> str:
        """One command, to its end; what it printed."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *["-m", "shoal", *arguments, "--data-dir", str(self.directory.path)],
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, said = await process.communicate()
        if process.returncode:
            raise AssertionError(f"shoal {' '.join(arguments[:2])}: {said.decode()}")
        return out.decode()

    async def read(self, path: str) -> Any:
        secrets = self.directory.secrets()
        token = issue_token(secrets.jwt_secret, secrets.owner_id, TOKEN_LIFETIME)
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(base_url=self.up.url, headers=headers, trust_env=False) as http:
            return (await http.get(path)).raise_for_status().json()

    async def until(self, condition: Callable[[], Awaitable[bool]], *, within_s: float) -> bool:
        try:
            async with asyncio.timeout(within_s):
                while not await self._holds(condition):  # noqa: ASYNC110 - other processes are looked at
                    await asyncio.sleep(LOOK_EVERY_S)
        except TimeoutError:
            return False
        return True

    async def _holds(self, condition: Callable[[], Awaitable[bool]]) -> bool:
        try:
            return await condition()
        except (httpx.HTTPError, OSError):  # it is being struck
            return False

    async def stop(self) -> list[str]:
        complaints = []
        for name, process in [*((one.name, one) for one in self.agents), ("up", self.up)]:
            if not process.is_alive:
                complaints.append(f"{name} ended by itself, saying: {process.last_words()}")
            elif code := await process.stop():
                complaints.append(f"{name} ended with code {code} when told to stop")
        return complaints + [f"left running: {one}" for one in await gone(self.directory.path, within_s=5)]


@asynccontextmanager
async def mesh_cluster_in(folder: Path, *, agents: int, liars: int) -> AsyncIterator[MeshCluster]:
    """Started, but for the agents. No process of it outlives the block."""
    cluster = MeshCluster(folder, agents=agents, liars=liars)
    try:
        await cluster.up.start()
        yield cluster
    finally:
        kill_all(folder)
        for process in (cluster.up, *cluster.agents):
            await process.ended()
