"""Through a transaction pooler, where no two transactions need to meet the same connection."""

import asyncio
from urllib.parse import urlsplit

import pytest

from shoal.ledger.connection import connect, is_pooled
from shoal.ledger.pool import Ledger
from shoal.ledger.settings import LedgerSettings

STATEMENTS = [f"SELECT $1::int + {number}" for number in range(20)]


async def test_a_pooler_is_seen_and_the_server_itself_is_not_taken_for_one(
    pooler_url: str, database_url: str
) -> None:
    for url, pooled in ((pooler_url, True), (database_url, False)):
        connection = await connect(url, application="test")
        assert await is_pooled(connection) == pooled
        await connection.close()


async def test_statements_stay_on_a_connection_where_nothing_stands_in_between(
    pooler_url: str, database_url: str
) -> None:
    for url, stays in ((pooler_url, False), (database_url, True)):
        ledger = Ledger(LedgerSettings(database_url=url, database_pool_size=1))
        await ledger.start()
        async with ledger.transaction() as connection:
            await connection.fetchval("SELECT $1::int + 1", 1)
            kept = "SELECT count(*) FROM pg_prepared_statements WHERE name <> '' AND statement ~ '[+] 1'"
            assert bool(await connection.fetchval(kept)) is stays
        await ledger.stop()


async def test_statements_of_many_clients_do_not_meet(pooler_url: str) -> None:
    ledgers = [Ledger(LedgerSettings(database_url=pooler_url, database_pool_size=4)) for _ in range(3)]

    async def work(ledger: Ledger) -> list[int]:
        async with ledger.connection() as connection:
            return [await connection.fetchval(one, 100) for _ in range(5) for one in STATEMENTS]

    for ledger in ledgers:
        await ledger.start()
    try:
        answers = await asyncio.gather(*(work(ledger) for ledger in ledgers * 3))
    finally:
        for ledger in ledgers:
            await ledger.stop()

    assert all(answer == [100 + number for _ in range(5) for number in range(20)] for answer in answers)


async def test_single_connections_do_not_meet_either(pooler_url: str) -> None:
    connections = [await connect(pooler_url, application="test") for _ in range(4)]

    async def work(number: int) -> list[str]:
        return [await connections[number].fetchval("SELECT $1::jsonb", str(number)) for _ in range(20)]

    assert await asyncio.gather(*map(work, range(4))) == [[str(number)] * 20 for number in range(4)]
    for connection in connections:
        await connection.close()


@pytest.mark.newest_servers
async def test_what_a_user_is_stays_in_the_transaction(pooler_url: str) -> None:
    ledger = Ledger(LedgerSettings(database_url=pooler_url, database_pool_size=4))
    await ledger.start()

    async def who(user: str) -> tuple[str, str]:
        async with ledger.acting_as({"role": "authenticated", "sub": user}) as connection:
            row = await connection.fetchrow("SELECT current_user::text, auth.uid()::text")
            assert row is not None
            return tuple(row)

    users = [f"00000000-0000-4000-8000-{number:012}" for number in range(20)]
    try:
        assert await asyncio.gather(*map(who, users)) == [("authenticated", user) for user in users]
        async with ledger.connection() as connection:
            owner = urlsplit(pooler_url).username
            assert {await connection.fetchval("SELECT current_user") for _ in range(5)} == {owner}
    finally:
        await ledger.stop()
