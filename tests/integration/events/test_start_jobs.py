"""``job.start``: a job once for each event, for whom the row says, and a reason for each that cannot be."""

import uuid
from typing import Any

import pytest

from shoal.ledger.connection import Connection
from shoal.ledger.pool import Ledger

from .outbox import Teller

ANN = uuid.UUID("00000000-0000-4000-8000-00000000000a")
BOB = uuid.UUID("00000000-0000-4000-8000-00000000000b")

APPEND = (
    "SELECT shoal.append_events('thing', ARRAY['a'], '{job.start}', ARRAY[$1::jsonb], ARRAY[$2::uuid], "
    "p_event_ids => ARRAY[$3::uuid])"
)
TURN = "SELECT shoal.start_jobs_of_events('start-jobs')"
JOBS = "SELECT type, user_id, params, priority FROM jobs ORDER BY id"
LETTERS = "SELECT reason FROM event_dead_letter_t ORDER BY failed_at"


@pytest.fixture
async def ready(ledger: Ledger) -> Ledger:
    async with ledger.connection() as connection:
        await connection.execute("SELECT shoal.register_job_type('known', '1', '{}', '[]')")
    return ledger


async def append(
    connection: Connection,
    payload: dict[str, Any],
    user: uuid.UUID | None = ANN,
    event: uuid.UUID | None = None,
) -> uuid.UUID:
    event = event or uuid.uuid4()
    await connection.execute(APPEND, payload, user, event)
    return event


async def turn(connection: Connection) -> int:
    await Teller(connection).order()
    return int(await connection.fetchval(TURN) or 0)


async def test_a_job_is_started_for_whom_the_row_says(ready: Ledger) -> None:
    async with ready.connection() as connection:
        await append(
            connection,
            {"type": "known", "params": {"n": 1}, "priority": 3, "userId": str(BOB), "user_id": str(BOB)},
        )
        assert await turn(connection) == 1
        (job,) = await connection.fetch(JOBS)
        assert tuple(job) == ("known", ANN, {"n": 1}, 3)


async def test_an_event_starts_one_job_however_often_it_is_told(ready: Ledger) -> None:
    async with ready.connection() as connection:
        event = await append(connection, {"type": "known"})
        await append(connection, {"type": "known"}, event=event)
        await turn(connection)
        assert await connection.fetchval("SELECT replay_events('start-jobs')") == 1
        assert await turn(connection) == 1
        assert len(await connection.fetch(JOBS)) == 1


@pytest.mark.parametrize(
    ("payload", "user", "reason"),
    [
        ({"type": "nobody knows it"}, ANN, "There is no job type 'nobody knows it'."),
        ({"type": 7}, ANN, "The event does not name the type of a job."),
        ({}, ANN, "The event does not name the type of a job."),
        ({"type": "known"}, None, "The job has no owner."),
        ({"type": "known", "priority": "high"}, ANN, "invalid input syntax for type integer"),
        ({"type": "known", "priority": 1000}, ANN, "violates check constraint"),
        ({"type": "known", "params": {"x": "x" * 70000}}, ANN, "violates check constraint"),
    ],
)
async def test_what_cannot_be_started_has_a_reason_and_is_in_nobodys_way(
    ready: Ledger, payload: dict[str, Any], user: uuid.UUID | None, reason: str
) -> None:
    async with ready.connection() as connection:
        await append(connection, payload, user)
        await append(connection, {"type": "known"})
        assert await turn(connection) == 2
        (letter,) = await connection.fetch(LETTERS)
        assert reason in letter["reason"]
        assert len(await connection.fetch(JOBS)) == 1


async def test_a_dead_letter_that_was_mended_starts_its_job(ready: Ledger) -> None:
    async with ready.connection() as connection:
        await append(connection, {"type": "later"})
        await turn(connection)
        assert len(await connection.fetch(LETTERS)) == 1
        await connection.execute("SELECT shoal.register_job_type('later', '1', '{}', '[]')")
        assert await connection.fetchval("SELECT replay_dead_letters('start-jobs')") == 1
        await turn(connection)
        assert len(await connection.fetch(JOBS)) == 1
        assert await connection.fetch(LETTERS) == []


async def test_a_database_that_fails_makes_no_event_a_poison(ready: Ledger) -> None:
    """What the seed's successor called permanent: a blip, and good events were dead letters."""
    async with ready.connection() as connection:
        await append(connection, {"type": "known"})
        await connection.execute("""
            CREATE SEQUENCE public.blips;
            CREATE FUNCTION blip() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
              IF nextval('public.blips') < 3 THEN
                RAISE EXCEPTION USING ERRCODE = '40001', MESSAGE = 'could not serialize access';
              END IF;
              RETURN NEW;
            END $$;
            CREATE TRIGGER blip BEFORE INSERT ON jobs FOR EACH ROW EXECUTE FUNCTION blip();
        """)
        for _ in range(2):
            with pytest.raises(Exception, match="could not serialize"):
                await turn(connection)
        assert await turn(connection) == 1
        assert await connection.fetch(LETTERS) == []
        assert len(await connection.fetch(JOBS)) == 1


@pytest.mark.parametrize(
    "forged", ["job.start", "job.completed", "schedule.fired", "user", "userx.y", "user."]
)
async def test_a_user_cannot_forge_what_others_announce(ready: Ledger, forged: str) -> None:
    claims = {"sub": str(BOB), "role": "authenticated"}
    emit = "SELECT emit_event($1, '{}')"
    async with ready.acting_as(claims) as connection:
        await connection.fetchval(emit, "user.fine")
    with pytest.raises(Exception, match="cannot be the type of an event of yours"):
        async with ready.acting_as(claims) as connection:
            await connection.fetchval(emit, forged)
    with pytest.raises(Exception, match="permission denied"):
        async with ready.acting_as(claims) as connection:
            await append(connection, {"type": "known"})


async def test_a_user_makes_only_events_of_their_own(ready: Ledger) -> None:
    claims = {"sub": str(BOB), "role": "authenticated"}
    with pytest.raises(Exception, match="only events of their own"):
        async with ready.acting_as(claims) as connection:
            await connection.fetchval("SELECT emit_event('user.x', p_user_id => $1)", ANN)
    async with ready.connection() as connection:
        await connection.fetchval("SELECT emit_event('user.x', p_user_id => $1)", ANN)
    async with ready.acting_as(claims) as connection:
        assert await connection.fetch("SELECT * FROM event_store_t") == []
