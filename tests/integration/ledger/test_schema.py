"""The sum of the migrations is the schema that was looked at when they were made."""

import pytest

from shoal.ledger.pool import Ledger
from shoal.ledger.statements import Statements, load_statements
from tests.architecture.repository import PACKAGE
from tests.support.postgres import PostgresServer

from .schema_dump import SNAPSHOT, dump_schema

ROOMS = sorted(folder.parent.name for folder in PACKAGE.glob("*/sql"))


@pytest.mark.newest_servers
async def test_the_schema_equals_the_committed_snapshot(postgres: PostgresServer) -> None:
    async with postgres.migrated_database() as name:
        made = dump_schema(postgres, name)

    committed = SNAPSHOT.read_text(encoding="utf-8")
    assert made.splitlines() == committed.splitlines(), f"write {SNAPSHOT.name} anew as its first line says"


@pytest.mark.parametrize("room", ROOMS)
async def test_every_statement_of_a_room_fits_the_schema(ledger: Ledger, room: str) -> None:
    statements: Statements = load_statements(f"shoal.{room}")
    async with ledger.connection() as connection:
        for file in (PACKAGE / room / "sql").glob("*.sql"):
            statement = getattr(statements, file.stem)
            prepared = await connection.prepare(statement.text)
            assert len(prepared.get_parameters()) == len(statement.params)
