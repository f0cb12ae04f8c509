"""The LISTEN hub wakes whoever waits, and everybody when it may have missed something."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from shoal.ledger.listener import Listener
from shoal.ledger.pool import Ledger
from shoal.ledger.settings import LedgerSettings
from tests.support.postgres import PostgresServer

DEADLINE_S = 30
PROMPT_S = 5
CUT_LISTENERS = """
SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
 WHERE datname = current_database() AND application_name = 'test listener'
"""


@asynccontextmanager
async def listening(listener: Listener) -> AsyncIterator[None]:
    running = asyncio.create_task(listener.run())
    try:
        await within_deadline(listener.connected)
        yield
    finally:
        await listener.stop()
        async with asyncio.timeout(PROMPT_S):
            await running


async def within_deadline(event: asyncio.Event) -> None:
    async with asyncio.timeout(DEADLINE_S):
        await event.wait()


async def notify(ledger: Ledger, channel: str) -> None:
    async with ledger.connection() as connection:
        await connection.execute("SELECT pg_notify($1, '')", channel)


async def test_a_notification_wakes_all_who_wait_for_its_channel(listener: Listener, ledger: Ledger) -> None:
    first, second = listener.subscribe("tasks"), listener.subscribe("tasks")
    other = listener.subscribe("jobs")
    async with listening(listener):
        for event in (first, second, other):
            await within_deadline(event)  # the first connection wakes everybody
            event.clear()

        await notify(ledger, "tasks")
        await within_deadline(first)
        await within_deadline(second)
        assert not other.is_set()

        await notify(ledger, "jobs")
        await within_deadline(other)


async def test_many_notifications_are_one_waking_at_least(listener: Listener, ledger: Ledger) -> None:
    event = listener.subscribe("tasks")
    async with listening(listener):
        for _ in range(3):
            event.clear()
            async with ledger.transaction() as connection:
                await connection.execute("SELECT pg_notify('tasks', n::text) FROM generate_series(1, 100) n")
            await within_deadline(event)


async def test_what_is_rolled_back_wakes_nobody(listener: Listener, ledger: Ledger) -> None:
    tasks, fence = listener.subscribe("tasks"), listener.subscribe("fence")
    async with listening(listener):
        await within_deadline(tasks)
        await within_deadline(fence)
        tasks.clear()
        fence.clear()
        async with ledger.connection() as connection:
            undone = connection.transaction()
            await undone.start()
            await connection.execute("NOTIFY tasks")
            await undone.rollback()
        await notify(ledger, "fence")
        await within_deadline(fence)  # sent later, and notifications keep their order
        assert not tasks.is_set()


async def test_a_channel_that_is_new_is_heard_as_well(listener: Listener, ledger: Ledger) -> None:
    listener.subscribe("tasks")
    async with listening(listener):
        late = listener.subscribe("jobs")
        await within_deadline(late)  # woken once it is listened to
        late.clear()
        await notify(ledger, "jobs")
        await within_deadline(late)


async def test_after_its_connection_was_cut_everybody_is_woken_and_hears_again(
    listener: Listener, ledger: Ledger
) -> None:
    events = {name: listener.subscribe(name) for name in ("tasks", "jobs")}
    async with listening(listener):
        for event in events.values():
            await within_deadline(event)
            event.clear()
        async with ledger.connection() as connection:
            assert len(await connection.fetch(CUT_LISTENERS)) == 1
        for event in events.values():
            await within_deadline(event)
            event.clear()
        await notify(ledger, "tasks")
        await within_deadline(events["tasks"])


async def test_after_the_server_was_restarted_everybody_is_woken_and_hears_again(
    postgres_to_stop: PostgresServer,
) -> None:
    async with postgres_to_stop.database() as name:
        settings = LedgerSettings(database_url=postgres_to_stop.url(name))
        listener = Listener(settings)
        event = listener.subscribe("tasks")
        async with listening(listener):
            await within_deadline(event)
            event.clear()
            await postgres_to_stop.stop()
            await postgres_to_stop.start()
            await within_deadline(event)
            event.clear()
            async with postgres_to_stop.connection(name) as connection:
                await connection.execute("NOTIFY tasks")
            await within_deadline(event)


async def test_a_server_that_comes_up_later_is_found(postgres_to_stop: PostgresServer) -> None:
    async with postgres_to_stop.database() as name:
        listener = Listener(LedgerSettings(database_url=postgres_to_stop.url(name)))
        event = listener.subscribe("tasks")
        await postgres_to_stop.stop()
        running = asyncio.create_task(listener.run())
        await postgres_to_stop.start()
        await within_deadline(event)
        await listener.stop()
        async with asyncio.timeout(PROMPT_S):
            await running


async def test_the_direct_address_is_listened_on(database_url: str, ledger: Ledger) -> None:
    """A transaction pooler does not pass notifications on, so it is left out."""
    settings = LedgerSettings(database_url="postgresql://pooler.invalid/x", database_direct_url=database_url)
    listener = Listener(settings)
    event = listener.subscribe("tasks")
    async with listening(listener):
        await within_deadline(event)
        event.clear()
        await notify(ledger, "tasks")
        await within_deadline(event)


async def test_stopping_before_the_start_ends_it_at_once(listener: Listener) -> None:
    await listener.stop()
    async with asyncio.timeout(PROMPT_S):
        await listener.run()


@pytest.mark.newest_servers
async def test_stopping_is_prompt_while_nobody_answers(silent_server: int) -> None:
    listener = Listener(LedgerSettings(database_url=f"postgresql://ann@127.0.0.1:{silent_server}/x"))
    running = asyncio.create_task(listener.run())
    await asyncio.sleep(0)  # it is connecting
    await listener.stop()
    async with asyncio.timeout(PROMPT_S):
        await running


@pytest.mark.newest_servers
async def test_stopping_is_prompt_while_it_waits_to_try_again(unused_tcp_port: int) -> None:
    listener = Listener(LedgerSettings(database_url=f"postgresql://ann@127.0.0.1:{unused_tcp_port}/x"))
    running = asyncio.create_task(listener.run())
    await asyncio.sleep(0)
    await listener.stop()
    async with asyncio.timeout(PROMPT_S):
        await running
    assert not listener.connected.is_set()


@pytest.fixture
async def silent_server() -> AsyncIterator[int]:
    """The port of a server that takes connections and says nothing."""
    connected: list[asyncio.StreamWriter] = []

    def take(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connected.append(writer)

    server = await asyncio.start_server(take, "127.0.0.1", 0)
    yield server.sockets[0].getsockname()[1]
    for writer in connected:
        writer.close()
    server.close()
    await server.wait_closed()
