"""Starting, stopping, starting again."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import asyncpg
import psutil
import pytest

from shoal.local.binaries import postgres_binaries, postgres_major
from shoal.local.directory import DataDirectory
from shoal.local.postgres import EmbeddedPostgres
from shoal.local.servers import servers_of
from shoal.runtime.errors import Unavailable

from .conftest import Running

Start = Callable[[DataDirectory], AbstractAsyncContextManager[Running]]

INSTALLED = [
    postgres_binaries(),
    *(
        folder
        for folder in sorted(Path("/usr/lib/postgresql").glob("*/bin"))
        if (folder / "initdb").exists() and postgres_major(folder) >= 15
    ),
]


def family(*pids: int) -> list[psutil.Process]:
    parents = [psutil.Process(pid) for pid in pids]
    return [*parents, *(child for p in parents for child in p.children(recursive=True))]


@pytest.mark.parametrize("binaries", INSTALLED, ids=lambda path: path.parent.name)
async def test_a_fresh_start_makes_a_durable_database_that_a_second_start_finds_again(
    empty: DataDirectory, binaries: Path
) -> None:
    directory = DataDirectory.prepare(empty.path)
    postgres = EmbeddedPostgres(
        directory.postgres,
        sockets=directory.sockets,
        log_file=directory.logs / "postgres.log",
        binaries=binaries,
    )
    for round_ in range(2):
        await postgres.start()
        try:
            sql = await asyncpg.connect(postgres.url)
            if round_ == 0:
                await sql.execute("CREATE TABLE kept AS SELECT 'yes' AS it_is")
            assert await sql.fetchval("SELECT it_is FROM kept") == "yes"
            assert await sql.fetchval("SELECT current_database()") == "shoal"
            for setting in ("fsync", "synchronous_commit", "full_page_writes"):
                assert await sql.fetchval("SELECT current_setting($1)", setting) == "on"
            await sql.close()
        finally:
            await postgres.stop()
    assert (directory.postgres / "data" / "PG_VERSION").read_text() == (f"{postgres_major(binaries)}\n")


async def test_both_servers_keep_their_data_stay_small_and_open_no_tcp_port(
    directory: DataDirectory, running: Start
) -> None:
    async with running(directory) as first:
        await first.sql.execute("CREATE TABLE kept AS SELECT 1")
        await first.brain.set("kept", "yes")
        assert (await first.brain.config_get("appendonly"))["appendonly"] == "yes"
        processes = family(first.postgres_pid, first.valkey_pid)
        assert sum(process.memory_full_info().pss for process in processes) < 100 * 2**20
        assert not [c for process in processes for c in process.net_connections("inet")]
        assert all(process.terminal() is None for process in processes)
    assert not any(process.is_running() for process in processes)
    async with running(directory) as second:
        assert await second.sql.fetchval("SELECT count(*) FROM kept") == 1
        assert await second.brain.get("kept") == b"yes"


async def test_stopping_what_never_started_or_has_stopped_does_nothing(
    directory: DataDirectory,
) -> None:
    for server in servers_of(directory):
        await server.stop()
        await server.start()
        await server.stop()
        await server.stop()
        assert server.pid is None


async def test_a_server_that_dies_is_started_again(directory: DataDirectory) -> None:
    postgres, _ = servers_of(directory)
    await postgres.start()
    watching = asyncio.create_task(postgres.run())
    try:
        first = postgres.pid
        assert first
        psutil.Process(first).kill()
        async with asyncio.timeout(20):
            while True:
                try:
                    sql = await asyncpg.connect(postgres.url)
                    break
                except (OSError, asyncpg.PostgresError):
                    await asyncio.sleep(0.02)
        await sql.close()
        assert postgres.pid != first
    finally:
        await postgres.stop()
    await asyncio.wait_for(watching, 5)


async def test_a_server_that_dies_again_and_again_as_soon_as_it_is_ready_is_given_up(
    empty: DataDirectory,
) -> None:
    _, valkey = servers_of(DataDirectory.prepare(empty.path))
    await valkey.start()
    watching = asyncio.create_task(valkey.run())
    killed: set[int] = set()
    try:
        async with asyncio.timeout(20):
            while not watching.done():
                async with valkey._changing:  # nobody is starting it: it is up, or has just been killed
                    if valkey.pid and valkey.pid not in killed:
                        killed.add(valkey.pid)
                        psutil.Process(valkey.pid).kill()
                await asyncio.sleep(0.02)
        with pytest.raises(Unavailable) as failure:
            await watching
    finally:
        await valkey.stop()
    assert len(killed) == 3
    assert failure.value.code == "valkey_failed_to_start"
