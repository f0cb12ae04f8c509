"""Real servers for a bench, on a directory that is removed afterwards: the ones ``shoal up`` starts."""

import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from shoal.local.directory import DataDirectory
from shoal.local.postgres import EmbeddedPostgres
from shoal.local.servers import servers_of
from shoal.local.valkey import EmbeddedValkey


@contextmanager
def bench_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="shoal-bench-", ignore_cleanup_errors=True) as name:
        yield Path(name)


@asynccontextmanager
async def embedded_postgres(folder: Path) -> AsyncIterator[EmbeddedPostgres]:
    """Started, with the database ``shoal``."""
    postgres, _ = servers_of(DataDirectory.prepare(folder))
    try:
        await postgres.start()
        yield postgres
    finally:
        await postgres.stop()


@asynccontextmanager
async def embedded_valkey(folder: Path) -> AsyncIterator[EmbeddedValkey]:
    _, valkey = servers_of(DataDirectory.prepare(folder))
    try:
        await valkey.start()
        yield valkey
    finally:
        await valkey.stop()
