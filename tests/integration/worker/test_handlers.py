"""Handlers of events: told at least once and in order, with effects in the ledger exactly once."""

import asyncio
from typing import Any

import pytest

from shoal import App, Event
from shoal.ledger.connection import Connection
from shoal.runtime.errors import Invalid

from .workshop import Workshop, until

APPEND = """
SELECT shoal.append_events('thing', array_agg($1::text), array_agg('thing.done'::text),
                           array_agg(jsonb_build_object('note', n)))
  FROM generate_series(1, $2::int) AS n
"""
LETTERS = "SELECT sink, reason, attempts FROM event_dead_letter_t"

pytestmark = pytest.mark.newest_servers


async def append(workshop: Workshop, count: int, *, aggregate: str = "a") -> None:
    await workshop.client.connection.execute(APPEND, aggregate, count)


async def never_waits(workshop: Workshop) -> None:
    """Pauses after failures are over as soon as they begin."""
    await workshop.client.connection.execute("""
        CREATE OR REPLACE FUNCTION hurry() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          NEW.retry_at := NULL;
          RETURN NEW;
        END $$;
        CREATE OR REPLACE TRIGGER hurry BEFORE UPDATE ON consumer_offset_t
          FOR EACH ROW EXECUTE FUNCTION hurry();
    """)


async def test_a_handler_is_told_of_jobs(workshop: Workshop) -> None:
    app = App()
    told: list[Event] = []

    @app.task("work")
    async def work(_: Any) -> int:
        return 42

    @app.on("job.completed")
    async def note(event: Event) -> None:
        told.append(event)

    async with workshop.worker(app):
        job = await workshop.start("work")
        await workshop.ended(job)
        await until(lambda: _now(told))
    assert [(event.type, event.aggregate_id) for event in told] == [("job.completed", str(job.id))]
    assert told[0].payload["status"] == "complete"


async def test_workers_of_an_app_share_its_events_and_each_aggregate_is_in_order(
    workshop: Workshop,
) -> None:
    told: list[tuple[str, int]] = []

    def app_of_one() -> App:
        app = App()

        @app.on("thing.*", name="shared")
        def note(event: Event) -> None:
            told.append((event.aggregate_id, event.payload["note"]))

        return app

    async with workshop.worker(app_of_one()), workshop.worker(app_of_one()):
        for aggregate in "abcdefgh":
            await append(workshop, 30, aggregate=aggregate)
        await until(lambda: _now(len(told) >= 240))
    assert sorted(told) == sorted((a, n) for a in "abcdefgh" for n in range(1, 31))
    for aggregate in "abcdefgh":
        assert [n for a, n in told if a == aggregate] == list(range(1, 31))


async def test_an_effect_in_the_ledger_is_there_once_though_the_handler_is_repeated(
    workshop: Workshop,
) -> None:
    await workshop.client.connection.execute("CREATE TABLE public.effects (note int)")
    await never_waits(workshop)
    app = App()
    calls: list[int] = []

    @app.on("thing.done")
    async def effect(event: Event, connection: Connection) -> None:
        calls.append(event.payload["note"])
        await connection.execute("INSERT INTO public.effects VALUES ($1)", event.payload["note"])
        if calls.count(2) < 3 and event.payload["note"] == 2:
            raise RuntimeError("after its effect")

    async with workshop.worker(app):
        await append(workshop, 4)
        await until(lambda: _now(4 in calls))
        await until(lambda: workshop.client.connection.fetchval("SELECT count(*) = 4 FROM effects"))
    assert calls == [1, 2, 2, 2, 3, 4]
    rows = await workshop.client.connection.fetch("SELECT note FROM public.effects ORDER BY note")
    assert [row["note"] for row in rows] == [1, 2, 3, 4]


async def test_what_a_handler_cannot_handle_is_a_dead_letter_with_its_reason(workshop: Workshop) -> None:
    await never_waits(workshop)
    app = App()
    told: list[int] = []

    @app.on("thing.done", attempts=3)
    async def picky(event: Event) -> None:
        if event.payload["note"] == 2:
            raise FileNotFoundError("no ink")  # of its own, not of the ledger's
        told.append(event.payload["note"])

    @app.on("thing.done", name="slow", attempts=1, timeout=0.1)
    async def slow(event: Event) -> None:
        await asyncio.sleep(60 if event.payload["note"] == 1 else 0)

    async with workshop.worker(app):
        await append(workshop, 3)
        await until(lambda: _now(told == [1, 3]))
        await until(
            lambda: workshop.client.connection.fetchval("SELECT count(*) = 2 FROM event_dead_letter_t")
        )
    letters = {tuple(row) for row in await workshop.client.connection.fetch(LETTERS)}
    assert letters == {
        ("picky", "FileNotFoundError: no ink", 3),
        ("slow", "It took longer than 0.1 s.", 1),
    }


async def test_a_worker_that_is_told_to_stop_leaves_the_rest_to_others(workshop: Workshop) -> None:
    told: list[int] = []
    began = asyncio.Event()
    may_end = asyncio.Event()

    def app_of_one() -> App:
        app = App()

        @app.on("thing.done", name="shared")
        async def note(event: Event) -> None:
            began.set()
            await may_end.wait()
            told.append(event.payload["note"])

        return app

    async with workshop.worker(app_of_one()):
        await append(workshop, 3)
        await began.wait()
        asyncio.get_running_loop().call_later(0.3, may_end.set)
    first = len(told)
    assert 1 <= first < 3
    async with workshop.worker(app_of_one()):
        await until(lambda: _now(len(told) == 3))
    assert told == [1, 2, 3]


@pytest.mark.parametrize("events", [(), ("Job.completed",), ("job*",), ("job.completed ",)])
def test_a_handler_asks_for_types_of_events(events: tuple[str, ...]) -> None:
    with pytest.raises(Invalid) as refused:

        @App().on(*events)
        def note(_: Event) -> None: ...

    assert refused.value.code == "invalid_declaration"


def test_a_handler_with_a_connection_is_async() -> None:
    with pytest.raises(Invalid, match="not async"):

        @App().on("job.*")
        def note(_: Event, connection: Connection) -> None: ...


async def _now(seen: object) -> object:
    return seen
