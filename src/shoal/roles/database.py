"""What ``shoal db`` does: look at the schema, and bring it up to date."""

from dataclasses import dataclass

from shoal.ledger.connection import connect
from shoal.ledger.migrate import load_migrations, migrate, missing_from, read_applied
from shoal.ledger.settings import LedgerSettings
from shoal.runtime.settings import Settings


@dataclass(frozen=True)
class SchemaState:
    applied: list[str]
    missing: list[str]


async def migrate_database(settings: Settings) -> list[str]:
    """Apply what is missing; returns the names of what was applied."""
    connection = await connect(settings[LedgerSettings].direct_url, application="shoal db")
    try:
        return [migration.name for migration in await migrate(connection)]
    finally:
        await connection.close()


async def read_schema_state(settings: Settings) -> SchemaState:
    connection = await connect(settings[LedgerSettings].direct_url, application="shoal db")
    try:
        applied = await read_applied(connection)
    finally:
        await connection.close()
    missing = missing_from(load_migrations(), applied)
    return SchemaState([one.name for one in applied], [one.name for one in missing])
