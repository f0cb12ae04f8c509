"""The pool says what is wrong with a database, never a password, and comes back when the database does."""

import asyncio
import socket
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote, urlsplit

import asyncpg
import pytest

from shoal.ledger.connection import UNREACHABLE, connect, prepare
from shoal.ledger.pool import Ledger
from shoal.ledger.settings import LedgerSettings
from shoal.runtime.errors import Invalid, ShoalError, Unavailable
from tests.support.postgres import PostgresServer

PASSWORD = "Zq7x/Vk@9 Wk3"
DEADLINE_S = 30


async def failure_to_start(url: str) -> ShoalError:
    """The same for a pool and for a single connection."""
    with pytest.raises(ShoalError) as of_pool:
        await Ledger(LedgerSettings(database_url=url)).start()
    with pytest.raises(ShoalError) as of_connection:
        await connect(url, application="test")
    assert str(of_pool.value) == str(of_connection.value)
    for part in (PASSWORD, quote(PASSWORD, safe=""), "Zq7x", "Wk3"):
        assert part not in str(of_pool.value)
    assert of_pool.value.hint
    return of_pool.value


def name_in(url: str) -> str:
    return urlsplit(url).path.removeprefix("/")


async def started(url: str, size: int = 2, **more: str) -> Ledger:
    ledger = Ledger(LedgerSettings(database_url=url, database_pool_size=size, **more))
    await ledger.start()
    return ledger


@pytest.fixture
async def guarded(postgres: PostgresServer) -> AsyncIterator[str]:
    """The address of a database under a user who has to give a password and has two connections."""
    await postgres.require_password_of("guarded")
    await postgres.execute(f"CREATE ROLE guarded LOGIN CONNECTION LIMIT 2 PASSWORD '{PASSWORD}'")
    try:
        async with postgres.database() as name:
            login = f"//guarded:{quote(PASSWORD, safe='')}@"
            yield postgres.url(name).replace("//postgres@", login)
    finally:
        await postgres.execute("DROP ROLE guarded")


async def test_the_right_password_opens(guarded: str) -> None:
    ledger = await started(guarded)
    await ledger.check()
    await ledger.stop()


async def test_a_wrong_password_is_refused_and_not_shown(guarded: str) -> None:
    error = await failure_to_start(guarded.replace("guarded:", "guarded:not"))
    assert (type(error), error.code) == (Invalid, "database_refused_login")
    assert "guarded" in error.message


async def test_a_database_that_is_not_there_is_named(guarded: str) -> None:
    error = await failure_to_start(guarded.replace("/test_", "/nowhere_"))
    assert (type(error), error.code) == (Invalid, "database_missing")
    assert "nowhere_" in error.message


async def test_nobody_listening_is_unreachable() -> None:
    with socket.socket() as reserved:  # bound and not listening: nobody else can take it
        reserved.bind(("127.0.0.1", 0))
        port = reserved.getsockname()[1]
        error = await failure_to_start(f"postgresql://ann:{quote(PASSWORD, safe='')}@127.0.0.1:{port}/x")
    assert (type(error), error.code) == (Unavailable, "database_unreachable")
    assert f"127.0.0.1:{port}" in error.message


async def test_no_socket_is_unreachable() -> None:
    error = await failure_to_start("postgresql://ann@/x?host=/nowhere&port=5432")
    assert (type(error), error.code) == (Unavailable, "database_unreachable")
    assert "local socket" in error.message


async def test_too_many_connections_are_an_unreachable_database(guarded: str) -> None:
    first, second = await started(guarded, 1), await started(guarded, 1)
    try:
        error = await failure_to_start(guarded)
        assert (type(error), error.code) == (Unavailable, "database_unreachable")
        assert "too many connections" in error.message
        # The pool that grows past the limit hears the same.
        await second.stop()
        growing = await started(guarded, 3)
        async with growing.connection():
            with pytest.raises(Unavailable, match="too many connections"):
                async with growing.connection():
                    pytest.fail("a connection over the limit")
        await growing.stop()
    finally:
        await first.stop()
        await second.stop()


async def test_callers_wait_for_one_of_few_connections(database_url: str) -> None:
    ledger = await started(database_url, 2)

    async def ask() -> object:
        async with ledger.connection() as connection:
            return await connection.fetchval("SELECT pg_backend_pid()")

    assert len(set(await asyncio.gather(*(ask() for _ in range(50))))) == 2
    await ledger.stop()


async def test_stopping_twice_or_before_the_start_does_nothing(database_url: str) -> None:
    ledger = Ledger(LedgerSettings(database_url=database_url))
    await ledger.stop()
    await ledger.start()
    await ledger.stop()
    await ledger.stop()
    with pytest.raises(RuntimeError, match="not started"):
        await ledger.check()


async def test_a_transaction_is_kept_or_undone_as_a_whole(ledger: Ledger) -> None:
    insert = "INSERT INTO public.users (id) VALUES (gen_random_uuid())"
    count = "SELECT count(*) FROM public.users"

    async def insert_and_fail() -> None:
        async with ledger.transaction() as connection:
            await connection.execute(insert)
            raise RuntimeError("ours")

    with pytest.raises(RuntimeError, match="ours"):
        await insert_and_fail()
    async with ledger.connection() as connection:
        assert await connection.fetchval(count) == 0
    async with ledger.transaction() as connection:
        await connection.execute(insert)
    async with ledger.connection() as connection:
        assert await connection.fetchval(count) == 1


async def test_documents_are_python_values(ledger: Ledger) -> None:
    document = {"a": [1, 2.5, None, True, "ü"], "b": {}}
    async with ledger.connection() as connection:
        assert await connection.fetchval("SELECT $1::jsonb", document) == document


async def test_after_its_connections_were_cut_the_pool_has_new_ones(
    postgres: PostgresServer, database_url: str
) -> None:
    ledger = await started(database_url)
    cut = await postgres.end_connections(name_in(database_url))
    assert cut == 1

    async with asyncio.timeout(DEADLINE_S):
        await until_it_answers(ledger)
    await ledger.stop()


async def test_a_transaction_that_is_cut_says_that_the_database_went_away(
    postgres: PostgresServer, database_url: str
) -> None:
    ledger = await started(database_url)

    async def cut_and_go_on() -> None:
        async with ledger.transaction() as connection:
            await postgres.end_connections(name_in(database_url))
            await connection.execute("SELECT 1")

    with pytest.raises(UNREACHABLE):
        await cut_and_go_on()
    await ledger.check()
    await ledger.stop()


async def test_a_server_that_goes_away_while_a_connection_is_made_ready_counts_as_away(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the last words of a server and the end of a connection, asyncpg fails in its own way."""
    goes_away = False

    async def prepare_unless_it_goes(connection: "asyncpg.Connection[Any]") -> None:
        if goes_away:
            raise asyncpg.InternalClientError(
                "cannot switch to state 11; another operation (2) is in progress"
            )
        await prepare(connection)

    monkeypatch.setattr("shoal.ledger.pool.prepare", prepare_unless_it_goes)
    monkeypatch.setattr("shoal.ledger.connection.prepare", prepare_unless_it_goes)
    ledger = await started(database_url)
    async with ledger.connection():  # the next one is new
        goes_away = True
        with pytest.raises(Unavailable):
            await ledger.check()
        with pytest.raises(Unavailable):
            await connect(database_url, application="test")
        goes_away = False
        await ledger.check()
    await ledger.stop()


async def test_while_the_server_is_away_callers_hear_so_until_it_is_back(
    postgres_to_stop: PostgresServer,
) -> None:
    async with postgres_to_stop.database() as name:
        ledger = await started(postgres_to_stop.url(name))
        await postgres_to_stop.stop()
        with pytest.raises((Unavailable, *UNREACHABLE)):
            await ledger.check()
        with pytest.raises(Unavailable) as away:
            await ledger.check()
        assert away.value.code == "database_unreachable"
        await postgres_to_stop.start()
        await until_it_answers(ledger)
        await ledger.stop()


async def until_it_answers(ledger: Ledger) -> None:
    """At most as many failures as there were connections: each is found dead once."""
    for _ in range(2):
        try:
            await ledger.check()
        except (*UNREACHABLE, asyncpg.InterfaceError):
            continue
        return
    await ledger.check()
