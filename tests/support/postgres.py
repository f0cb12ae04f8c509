"""A real PostgreSQL for tests, whose databases are copies of one that was migrated once."""

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeAlias

import asyncpg

from shoal.ledger.migrate import migrate
from shoal.local.postgres import EmbeddedPostgres

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

MIGRATED = "migrated"
"""Nobody works in this one: it is only copied."""

# Nothing in it has to survive the machine.
QUICK = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "autovacuum": "off",
}


class PostgresServer:
    """``url`` of a database on it; ``stop``, ``start`` and ``restart`` keep what it holds."""

    def __init__(self, folder: Path, binaries: Path) -> None:
        self.binaries = binaries
        self._numbers = itertools.count(1)
        self._has_migrated = False
        self._server = EmbeddedPostgres(
            folder / "home",
            sockets=folder / "s",
            log_file=folder / "postgres.log",
            binaries=binaries,
            parameters=QUICK,
        )

    def url(self, database: str = "postgres") -> str:
        return self._server.url_of(database)

    @property
    def is_running(self) -> bool:
        return self._server.pid is not None

    async def start(self) -> None:
        await self._server.start()

    async def stop(self) -> None:
        await self._server.stop()

    async def restart(self) -> None:
        await self.stop()
        await self.start()

    async def execute(self, *statements: str) -> None:
        """Run statements as the superuser, outside of any database that a test uses."""
        async with self.connection() as connection:
            for statement in statements:
                await connection.execute(statement)

    async def require_password_of(self, user: str) -> None:
        """From now on this user has to give a password; everybody else is trusted, as before."""
        rules = self._server.working_directory / "pg_hba.conf"
        rule = f"local all {user} scram-sha-256\n"
        text = rules.read_text(encoding="utf-8")
        if rule not in text:
            rules.write_text(rule + text, encoding="utf-8")
            await self.execute("SELECT pg_reload_conf()")

    async def end_connections(self, database: str) -> int:
        """Cut everybody's connection to a database; how many that were."""
        async with self.connection() as connection:
            cut = await connection.fetch(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = $1", database
            )
            return len(cut)

    @asynccontextmanager
    async def connection(self, database: str = "postgres") -> AsyncIterator[Connection]:
        connection = await asyncpg.connect(self.url(database))
        try:
            yield connection
        finally:
            await connection.close()

    @asynccontextmanager
    async def migrated_database(self) -> AsyncIterator[str]:
        """The name of a new database with the whole schema and nothing in it."""
        if not self._has_migrated:
            await self.execute(f"CREATE DATABASE {MIGRATED}")
            async with self.connection(MIGRATED) as connection:
                await migrate(connection)
            self._has_migrated = True
        async with self.database(f"TEMPLATE {MIGRATED}") as name:
            yield name

    @asynccontextmanager
    async def database(self, options: str = "") -> AsyncIterator[str]:
        """The name of a new database, dropped afterwards whoever is still connected."""
        name = f"test_{next(self._numbers)}"
        # Copying files takes two thirds of the time of writing everything to the log.
        await self.execute(f"CREATE DATABASE {name} {options} STRATEGY file_copy")
        try:
            yield name
        finally:
            await self.execute(f"DROP DATABASE {name} WITH (FORCE)")
