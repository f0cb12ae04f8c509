"""`up` is killed, its servers are killed, pid files lie: nothing is lost and no stranger is hit."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from functools import partial

import asyncpg
import psutil
import pytest
import redis.asyncio
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from shoal.local.directory import DataDirectory
from shoal.local.postgres import EmbeddedPostgres
from shoal.local.processes import is_alive
from shoal.local.servers import servers_of, stop_leftovers
from shoal.runtime.errors import Conflict

from .conftest import Running, Up

# asyncpg has a third one: when it has not yet noticed that the connection it uses was cut.
DATABASE_GONE = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)

Start = Callable[[DataDirectory], AbstractAsyncContextManager[Running]]
Eventually = Callable[[Callable[[], Awaitable[object]]], Awaitable[None]]
StartUp = Callable[[DataDirectory], Awaitable[Up]]


def alive(pid: int) -> bool:
    """Not merely in the process table: there may be no init that clears it."""
    return psutil.pid_exists(pid) and is_alive(psutil.Process(pid))


async def write_until_killed(directory: DataDirectory) -> tuple[int, int]:
    """Write row after row and count after count; how much of each was confirmed."""
    postgres, valkey = servers_of(directory)
    rows = counts = 0
    sql = await asyncpg.connect(postgres.url)
    brain = redis.asyncio.from_url(valkey.url, retry=Retry(NoBackoff(), 0))
    await sql.execute("CREATE TABLE confirmed (n int PRIMARY KEY)")
    with contextlib.suppress(OSError, *DATABASE_GONE, RedisError):
        while True:
            await sql.execute("INSERT INTO confirmed VALUES ($1)", rows + 1)
            rows += 1
            await brain.incr("confirmed")
            counts += 1
    sql.terminate()
    with contextlib.suppress(RedisError):
        await brain.aclose()
    return rows, counts


async def test_servers_of_a_killed_up_are_adopted_with_their_data(
    directory: DataDirectory, up: StartUp, running: Start
) -> None:
    killed = await up(directory)
    postgres, _ = servers_of(directory)
    sql = await asyncpg.connect(postgres.url)
    await sql.execute("CREATE TABLE kept AS SELECT 1")
    await killed.kill()
    assert await sql.fetchval("SELECT count(*) FROM kept") == 1, "the servers go on"
    await sql.close()
    directory.hold(url="").release()  # they did not inherit the lock
    async with running(directory) as adopted:
        assert adopted.postgres_pid == killed.postgres_pid
        assert adopted.valkey_pid == killed.valkey_pid
        assert await adopted.sql.fetchval("SELECT count(*) FROM kept") == 1
    assert not alive(killed.postgres_pid), "who adopts a server also stops it"
    assert not alive(killed.valkey_pid)


async def enough_rows(sql: "asyncpg.Connection[asyncpg.Record]") -> bool:
    return bool(
        await sql.fetchval("SELECT to_regclass('confirmed') IS NOT NULL")
        and await sql.fetchval("SELECT count(*) > 50 FROM confirmed")
    )


async def test_nothing_confirmed_is_lost_when_everything_is_killed_at_work(
    directory: DataDirectory, up: StartUp, running: Start, eventually: Eventually
) -> None:
    for _ in range(2):
        killed = await up(directory)
        writing = asyncio.create_task(write_until_killed(directory))
        postgres, _ = servers_of(directory)
        sql = await asyncpg.connect(postgres.url)
        await eventually(partial(enough_rows, sql))
        await killed.kill(with_servers=True)
        sql.terminate()
        rows, counts = await asyncio.wait_for(writing, 20)
        assert rows >= 50
        async with running(directory) as recovered:
            assert recovered.postgres_pid != killed.postgres_pid
            # The last one may have been written and not yet confirmed.
            assert await recovered.sql.fetchval("SELECT count(*) FROM confirmed") in (
                rows,
                rows + 1,
            )
            assert int(await recovered.brain.get("confirmed") or 0) in (counts, counts + 1)
            await recovered.sql.execute("DROP TABLE confirmed")
            await recovered.brain.delete("confirmed")


async def test_a_pid_file_that_names_a_stranger_stops_nothing_and_hits_nobody(
    directory: DataDirectory,
) -> None:
    postgres, valkey = servers_of(directory)
    stranger = await asyncio.create_subprocess_exec("sleep", "600")
    try:
        data = directory.postgres / "data"
        stale = f"{stranger.pid}\n{data}\n1\n5432\n{directory.sockets}\n\n"
        (data / "postmaster.pid").write_text(stale)
        (directory.sockets / ".s.PGSQL.5432.lock").write_text(stale)
        (directory.sockets / "valkey.sock").touch()
        for server in (postgres, valkey):
            await server.start()
            await server.stop()
        assert psutil.Process(stranger.pid).status() == psutil.STATUS_SLEEPING
    finally:
        stranger.kill()
        await stranger.wait()


async def test_a_server_that_runs_with_other_settings_is_replaced(directory: DataDirectory) -> None:
    old, _ = servers_of(directory)
    new = EmbeddedPostgres(
        directory.postgres,
        sockets=directory.sockets,
        log_file=directory.logs / "postgres.log",
        parameters={"max_connections": "23"},
    )
    await old.start()
    try:
        replaced = old.pid
        await new.start()
        assert new.pid != replaced
        sql = await asyncpg.connect(new.url)
        assert await sql.fetchval("SHOW max_connections") == "23"
        await sql.close()
    finally:
        await new.stop()
        await old.stop()


async def test_leftovers_are_stopped_once_nobody_holds_the_directory(
    directory: DataDirectory, up: StartUp
) -> None:
    killed = await up(directory)
    with pytest.raises(Conflict) as refused:
        await stop_leftovers(directory)
    assert refused.value.code == "data_dir_in_use"
    await killed.kill()
    assert await stop_leftovers(directory) == [
        f"PostgreSQL (process {killed.postgres_pid})",
        f"Valkey (process {killed.valkey_pid})",
    ]
    assert not alive(killed.postgres_pid)
    assert await stop_leftovers(directory) == []
    assert await stop_leftovers(DataDirectory(directory.path / "absent")) == []
