"""The schema that the migrations make, as text. Write it anew after changing a migration:

python -m tests.integration.ledger.schema_dump
"""

import asyncio
import re
import subprocess
from pathlib import Path

from tests.support.generations import POSTGRES_GENERATIONS, binaries_of_postgres
from tests.support.postgres import PostgresServer
from tests.support.servers import servers_folder

SNAPSHOT = Path(__file__).with_name("schema.sql")
HEADER = "-- What the migrations make. Written by: python -m tests.integration.ledger.schema_dump\n"

# What pg_dump says about itself, and the session settings of whoever loads the dump.
NOISE = re.compile(r"^(--.*|SET .*;|SELECT pg_catalog\.set_config\(.*|\\(un)?restrict .*)\n", re.MULTILINE)


def dump_schema(server: PostgresServer, database: str) -> str:
    command = [
        str(server.binaries / "pg_dump"),
        "--schema-only",
        "--no-owner",
        "--dbname",
        server.url(database),
    ]
    dumped = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return HEADER + re.sub(r"\n{3,}", "\n\n", NOISE.sub("", dumped)).strip() + "\n"


async def _write() -> None:
    with servers_folder() as folder:
        server = PostgresServer(folder, binaries_of_postgres(POSTGRES_GENERATIONS[0]))
        await server.start()
        try:
            async with server.migrated_database() as name:
                SNAPSHOT.write_text(dump_schema(server, name), encoding="utf-8")
        finally:
            await server.stop()


if __name__ == "__main__":
    asyncio.run(_write())
