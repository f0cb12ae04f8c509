"""The cluster of the room ``fleet``, as sentences: ``await cluster.crews[3].kill()``."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from redis.exceptions import RedisError

from shoal.access.tokens import issue_token
from shoal.local.directory import DataDirectory
from shoal.local.servers import servers_of
from shoal.roles.up import free_port
from tests.scenarios.fleet.brains import BrainUnderTest, BrainWithReplica, SingleBrain
from tests.scenarios.ledger_view import LedgerView
from tests.scenarios.processes import Launched, gone, kill_all

APP = "tests.scenarios.apps.dice:app"
SENTINELS = 3
NODES_PER_CREW = 5
SILENCE_S = 4
TOKEN_LIFETIME = timedelta(hours=6)
LOOK_EVERY_S = 0.1


class Struck(Launched):
    async def kill(self) -> None:
        await self.kill_group()

    def pause(self) -> None:
        self.signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.signal(signal.SIGCONT)


class Crew(Struck):
    """A process with five nodes in it."""

    def __init__(self, folder: Path, url: str, token: str, environment: Mapping[str, str]) -> None:
        super().__init__([], log_file=folder.with_suffix(".log"), environment=environment, ready=b"ready")
        module = "tests.scenarios.fleet.crew"
        self.command = [sys.executable, "-m", module, str(folder), url, str(NODES_PER_CREW), token]


class FleetCluster:
    def __init__(self, folder: Path, *, crews: int, owners: int, with_replica: bool) -> None:
        self.folder = folder
        self.directory = DataDirectory.prepare(folder / "data")
        self.postgres, _ = servers_of(self.directory)
        self.ledger = LedgerView(self.postgres.url_of("shoal"))
        self.brain: BrainUnderTest = BrainWithReplica(folder) if with_replica else SingleBrain(folder)
        secrets = self.directory.secrets()
        self.owners = [UUID(int=secrets.owner_id.int + number) for number in range(owners)]
        self._tokens = {one: issue_token(secrets.jwt_secret, one, TOKEN_LIFETIME) for one in self.owners}
        settings = {
            "database_url": self.postgres.url_of("shoal"),
            "redis_url": self.brain.url,
            "vault_url": self.directory.vault.as_uri(),
            "vault_link_secret": secrets.link_secret,
            "vault_link_url": "http://files.invalid",
            "jwt_secret": secrets.jwt_secret,
            "centrifugo_token_secret": secrets.derive("centrifugo token secret"),
            "fleet_silence_s": SILENCE_S,
            "log_format": "json",
        }
        environment = {f"SHOAL_{name.upper()}": str(value) for name, value in settings.items()}
        nowhere = ("--data-dir", str(folder / "none"))
        ports = [free_port("127.0.0.1") for _ in range(SENTINELS)]
        self.sentinels = [
            Struck(
                ["sentinel", "--set", f"api_port={port}", *nowhere],
                log_file=folder / f"sentinel-{number}.log",
                environment=environment,
                ready=b"ready",
            )
            for number, port in enumerate(ports, start=1)
        ]
        self.planner = Struck(
            ["worker", "run", APP, *nowhere],
            log_file=folder / "worker.log",
            environment=environment,
            ready=b"ready",
        )
        self.crews = [
            Crew(
                folder / f"crew-{number}",
                f"http://127.0.0.1:{ports[number % SENTINELS]}",
                self._tokens[self.owners[number % owners]],
                {},
            )
            for number in range(crews)
        ]

    @property
    def processes(self) -> Sequence[Launched]:
        return [*self.crews, self.planner, *self.sentinels]

    def fallen(self) -> list[str]:
        return [one.log_file.stem for one in self.processes if not one.is_alive]

    async def start(self) -> None:
        await asyncio.gather(self.postgres.start(), self.brain.start())
        await self.migrate()
        await asyncio.gather(*(one.start() for one in self.sentinels))
        await asyncio.gather(self.planner.start(), *(one.start() for one in self.crews))

    async def migrate(self) -> None:
        process = await asyncio.create_subprocess_exec(
            *[sys.executable, "-m", "shoal", "db", "migrate"],
            *["--set", f"database_url={self.postgres.url_of('shoal')}"],
            stdout=asyncio.subprocess.DEVNULL,
        )
        assert await process.wait() == 0

    async def held(self) -> int:
        """How many chunks nodes hold now; 0 while the brain is away."""
        return await self._of_plans("held")

    async def done(self) -> int:
        """How many chunks are done of jobs that have not ended."""
        return await self._of_plans("completed")

    async def _of_plans(self, what: str) -> int:
        client: Any = self.brain.client()
        try:
            found = 0
            for raw in await client.zrange("{job}:plans", 0, -1):
                key = f"{{job}}:{raw.decode()}"
                number = client.hlen(f"{key}:held") if what == "held" else client.hget(key, what)
                found += int(await number or 0)
        except (RedisError, OSError):
            return 0
        else:
            return found
        finally:
            await client.aclose()

    async def left_in_brain(self) -> list[str]:
        """Keys of plans that are there although every job has ended."""
        client: Any = self.brain.client()
        try:
            return sorted(key.decode() for key in await client.keys("{job}:*"))
        finally:
            await client.aclose()

    async def stop(self) -> list[str]:
        """End everything in order; returns what did not end as it should."""
        complaints = []
        for process in self.processes:
            name = process.log_file.stem
            if not process.is_alive:
                complaints.append(f"{name} ended by itself, saying: {process.last_words()}")
            elif code := await process.stop():
                complaints.append(f"{name} ended with code {code} when told to stop")
        await self.brain.stop()
        await self.ledger.close()
        await self.postgres.stop()
        complaints += [f"left running: {one}" for one in await gone(self.folder, within_s=5)]
        return complaints


@asynccontextmanager
async def fleet_in(
    folder: Path, *, crews: int, owners: int, with_replica: bool
) -> AsyncIterator[FleetCluster]:
    """A started cluster of which no process outlives the block."""
    cluster = FleetCluster(folder, crews=crews, owners=owners, with_replica=with_replica)
    try:
        await cluster.start()
        await cluster.ledger.install_witness()
        yield cluster
    finally:
        for process in cluster.processes:
            process.resume() if isinstance(process, Struck) else None
            if process.is_alive:
                await process.kill_group()
        await cluster.brain.stop()
        await cluster.ledger.close()
        await cluster.postgres.stop()
        kill_all(folder)
