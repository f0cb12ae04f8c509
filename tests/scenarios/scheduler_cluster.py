"""The cluster of the room ``schedules``: PostgreSQL, Valkey, and five schedulers, each a sentinel."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from shoal.ledger.connection import connect
from shoal.ledger.migrate import migrate
from shoal.local.directory import DataDirectory
from shoal.local.postgres import EmbeddedPostgres
from shoal.local.servers import servers_of
from tests.scenarios.cluster import EmbeddedServerView
from tests.scenarios.faketime import with_wrong_clock
from tests.scenarios.ledger_view import LedgerView
from tests.scenarios.processes import Launched, gone, kill_all

SCHEDULERS = 5
CLOCKS_OFF_BY_S = (0, 300, -300, 60, -60)
LEADER = (
    "SELECT instance_id FROM scheduler_lock_t WHERE last_heartbeat > clock_timestamp() - interval '1 hour'"
)


class SchedulerProcess(Launched):
    """``shoal sentinel``, which contends for leading the schedules."""

    def __init__(
        self, name: str, arguments: list[str], *, log_file: Path, environment: dict[str, str]
    ) -> None:
        super().__init__(arguments, log_file=log_file, environment=environment, ready=b"ready at")
        self.name = name

    def pause(self) -> None:
        self.signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.signal(signal.SIGCONT)


class SchedulerCluster:
    def __init__(self, folder: Path, *, lease_s: float) -> None:
        self.directory = DataDirectory.prepare(folder / "data")
        self.servers = servers_of(self.directory)
        self.postgres = EmbeddedServerView(self.servers[0].working_directory, *EmbeddedPostgres.processes)
        self.url = self.servers[0].url_of("shoal")
        self.ledger = LedgerView(self.url)
        self.clocks_are_off = with_wrong_clock(1) is not None
        secrets = self.directory.secrets()
        settings = {
            "database_url": self.url,
            "redis_url": self.servers[1].url,
            "vault_url": self.directory.vault.as_uri(),
            "vault_link_secret": secrets.link_secret,
            "vault_link_url": "http://files.invalid",
            "jwt_secret": secrets.jwt_secret,
            "api_port": 0,
            "scheduler_lease_s": lease_s,
            "scheduler_batch": 500,
        }
        given = ["--data-dir", str(self.directory.path)]
        for name, value in settings.items():
            given += ["--set", f"{name}={value}"]
        self.schedulers = [
            SchedulerProcess(
                f"scheduler-{number}",
                ["sentinel", *given],
                log_file=folder / f"scheduler-{number}.log",
                environment={
                    "SHOAL_LOG_FORMAT": "json",
                    **(with_wrong_clock(off_by) or {} if off_by else {}),
                },
            )
            for number, off_by in enumerate(CLOCKS_OFF_BY_S, start=1)
        ]

    async def start(self) -> None:
        for server in self.servers:
            await server.start()
        connection = await connect(self.url, application="scenario")
        try:
            await migrate(connection)
        finally:
            await connection.close()
        await asyncio.gather(*(one.start() for one in self.schedulers))

    async def leader(self) -> SchedulerProcess | None:
        """Whoever the ledger says leads, if it is one of those that run."""
        rows = await self.ledger.rows(LEADER)
        for one in self.schedulers:
            if one.is_alive and rows and f":{one.pid}:" in rows[0][0]:
                return one
        return None

    async def stop(self) -> list[str]:
        """End everything in order; returns what did not end as it should."""
        complaints = []
        for one in self.schedulers:
            if not one.is_alive:
                complaints.append(f"{one.name} ended by itself, saying: {one.last_words()}")
            elif code := await one.stop():
                complaints.append(f"{one.name} ended with code {code} when told to stop")
        return complaints


@asynccontextmanager
async def scheduler_cluster_in(folder: Path, *, lease_s: float) -> AsyncIterator[SchedulerCluster]:
    """A started cluster of which no process outlives the block. Servers that end are started again."""
    cluster = SchedulerCluster(folder, lease_s=lease_s)
    watching: list[asyncio.Task[None]] = []
    try:
        await cluster.start()
        watching = [asyncio.create_task(server.run()) for server in cluster.servers]
        yield cluster
    finally:
        await cluster.ledger.close()
        for one in cluster.schedulers:
            if one.is_alive:
                await one.kill_group()
        for server in cluster.servers:
            await server.stop()
        await asyncio.gather(*watching)
        kill_all(cluster.directory.path)
        await gone(cluster.directory.path, within_s=5)
