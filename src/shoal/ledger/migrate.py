"""Migrations: plain numbered ``.sql`` files, applied once, in order, under a lock, checksummed.

A name is ``<number>_<when>_<what>.sql``. *when* is ``before`` for a file that may run while the old
code still works (almost all of them), ``after`` for one that must wait until no old code runs.

* Forward only. A gap, an edited file, or a database that is ahead of this code is refused.
* Each file is one transaction that first takes the lock; two processes never apply the same one.
* The files run as they are in any console, and on Supabase.
"""

import hashlib
import re
from dataclasses import dataclass
from importlib.resources import files

import asyncpg

from shoal.ledger.connection import Connection
from shoal.runtime.errors import Conflict, Invalid

NAME = re.compile(r"(?P<version>\d{4})_(?P<when>before|after)_(?P<what>\w+)\.sql")

LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('shoal.migrations', 0))"
CREATE_TABLE = """
CREATE SCHEMA IF NOT EXISTS shoal;
CREATE TABLE IF NOT EXISTS shoal.migrations (
  version int PRIMARY KEY, name text NOT NULL, checksum text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT clock_timestamp());
"""
TABLE_EXISTS = "SELECT to_regclass('shoal.migrations') IS NOT NULL"
READ_APPLIED = "SELECT version, name, checksum FROM shoal.migrations ORDER BY version"
RECORD = "INSERT INTO shoal.migrations (version, name, checksum) VALUES ($1, $2, $3)"


@dataclass(frozen=True)
class Migration:
    version: int
    name: str
    text: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


@dataclass(frozen=True)
class Applied:
    version: int
    name: str
    checksum: str


def load_migrations() -> list[Migration]:
    """The migrations this code ships, in order."""
    folder = files("shoal.ledger").joinpath("migrations")
    found = [
        parse_migration(file.name, file.read_text(encoding="utf-8"))
        for file in folder.iterdir()
        if file.name.endswith(".sql")
    ]
    found.sort(key=lambda migration: migration.version)
    for expected, migration in enumerate(found, start=1):
        if migration.version != expected:
            raise ValueError(f"migration {expected} is missing before {migration.name}")
    return found


def parse_migration(name: str, text: str) -> Migration:
    match = NAME.fullmatch(name)
    if match is None:
        raise ValueError(f"{name} is not <number>_<before|after>_<what>.sql")
    return Migration(int(match["version"]), name, text)


def missing_from(shipped: list[Migration], applied: list[Applied]) -> list[Migration]:
    """What is still to be applied; refuses a history that does not fit the shipped files."""
    for done, own in zip(applied, shipped, strict=False):
        if done.version != own.version:
            raise Conflict(
                "schema_history_broken",
                f"The database lacks migration {own.version} but has {done.version}.",
                hint="Restore the database from a backup; migrations are never left out.",
            )
        if done.checksum != own.checksum:
            raise Conflict(
                "migration_edited",
                f"The database was built with another text of {own.name}.",
                hint="Put the file back as it was, and make the change in a new migration.",
            )
    if len(applied) > len(shipped):
        raise Conflict(
            "schema_too_new",
            f"The database is at version {applied[-1].version} ({applied[-1].name}); "
            f"this Shoal knows versions up to {len(shipped)}.",
            hint="Use the newer Shoal that made it, or restore a backup from before.",
        )
    return shipped[len(applied) :]


async def read_applied(connection: Connection) -> list[Applied]:
    if not await connection.fetchval(TABLE_EXISTS):
        return []
    return [Applied(*row) for row in await connection.fetch(READ_APPLIED)]


async def migrate(connection: Connection, shipped: list[Migration] | None = None) -> list[Migration]:
    """Bring the database up to this code; returns what was applied."""
    shipped = load_migrations() if shipped is None else shipped
    done = []
    while (migration := await _apply_next(connection, shipped)) is not None:
        done.append(migration)
    return done


async def _apply_next(connection: Connection, shipped: list[Migration]) -> Migration | None:
    async with connection.transaction():
        await connection.execute(LOCK)
        await connection.execute(CREATE_TABLE)
        missing = missing_from(shipped, await read_applied(connection))
        if not missing:
            return None
        migration = missing[0]
        try:
            await connection.execute(migration.text)
        except asyncpg.PostgresError as error:
            raise Invalid(
                "migration_failed",
                f"Migration {migration.name} failed: {error}.",
                hint="Nothing of it was applied. Check the rights of the database user.",
            ) from error
        await connection.execute(RECORD, migration.version, migration.name, migration.checksum)
        return migration


async def require_current(connection: Connection) -> None:
    """Refuse to work on a schema that is older or newer than this code."""
    missing = missing_from(load_migrations(), await read_applied(connection))
    if missing:
        raise Conflict(
            "schema_outdated",
            f"The database lacks {len(missing)} migrations, the first is {missing[0].name}.",
            hint="Run 'shoal db migrate'.",
        )
