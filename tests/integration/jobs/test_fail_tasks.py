"""Failures: tried again after a pause that grows, or over for good; and the pauses end by the clock."""

import math
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shoal.ledger.connection import Connection

from .ledger_client import LedgerClient, graph, task

HOUR_S = 3600.0

# What random() can return.
CHANCES = st.integers(0, 2**53 - 1).map(lambda number: number / 2**53)

# Hypothesis calls the test many times on one database, which is what is wanted here.
on_one_database = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=150
)


async def back_off(connection: Connection, base_s: float, attempt: int, chance: float) -> float:
    pause: timedelta = await connection.fetchval("SELECT shoal.backoff($1, $2, $3)", base_s, attempt, chance)
    return pause.total_seconds()


@pytest.mark.newest_servers
@on_one_database
@given(
    base_s=st.floats(0, 1e6, width=32),
    attempt=st.integers(-1, 2**31 - 1),
    chance=CHANCES,
)
async def test_the_back_off_doubles_up_to_an_hour_and_loses_up_to_half(
    ann: LedgerClient, base_s: float, attempt: int, chance: float
) -> None:
    whole = min(base_s * 2.0 ** min(max(attempt, 1) - 1, 30), HOUR_S)

    pause = await back_off(ann.connection, base_s, attempt, chance)

    assert pause == pytest.approx(whole * (1 - chance / 2), rel=1e-6, abs=2e-6)
    assert whole / 2 - 1e-6 <= pause <= whole + 1e-6


@pytest.mark.newest_servers
@on_one_database
@given(base_s=st.floats(0, 1e6, width=32), attempt=st.integers(1, 100), chance=CHANCES)
async def test_the_back_off_never_gets_shorter_with_the_attempts(
    ann: LedgerClient, base_s: float, attempt: int, chance: float
) -> None:
    before = await back_off(ann.connection, base_s, attempt, chance)
    assert await back_off(ann.connection, base_s, attempt + 1, chance) >= before


async def test_a_failed_task_comes_back_after_its_own_back_off(ann: LedgerClient) -> None:
    """Trap 4.6: retries without ``run_at`` are a hot loop."""
    job = await ann.start(graph(task("a", backoff_s=40, max_attempts=5)))
    for attempt in (1, 2, 3):
        assert await ann.fail(await ann.claim_one(), error="it rained") == ["retrying"]

        row = await ann.task(job.tasks["a"])
        assert (row["status"], row["attempts"], row["error"]) == ("pending", attempt, "it rained")
        assert (row["worker_id"], row["claim_token"], row["claimed_at"]) == (None, None, None)
        whole = 40 * 2 ** (attempt - 1)
        left = await ann.connection.fetchval("SELECT $1::timestamptz - clock_timestamp()", row["run_at"])
        assert whole / 2 - 5 <= left.total_seconds() <= whole
        assert await ann.claim(9) == []

        await ann.let_delays_pass()


async def test_a_failed_task_keeps_its_job_going(ann: LedgerClient) -> None:
    job = await ann.start(graph(task("a")))
    await ann.fail(await ann.claim_one())

    row = await ann.job(job.id)
    assert (row["status"], row["tasks_open"], row["tasks_failed"]) == ("processing", 1, 0)


async def test_when_attempts_are_used_up_the_task_has_failed(ann: LedgerClient) -> None:
    job = await ann.start(graph(task("a", max_attempts=2)))
    await ann.fail(await ann.claim_one(), retry_after_s=0)

    assert await ann.fail(await ann.claim_one(), error="twice is enough") == ["failed"]

    row = await ann.job(job.id)
    assert (row["status"], row["error"]) == ("failed", "twice is enough")


async def test_a_lasting_failure_uses_no_further_attempt(ann: LedgerClient) -> None:
    job = await ann.start(graph(task("a", max_attempts=9)))
    assert await ann.fail(await ann.claim_one(), permanent=True) == ["failed"]
    assert (await ann.task(job.tasks["a"]))["attempts"] == 1


async def test_a_task_may_say_itself_when_to_try_again(ann: LedgerClient) -> None:
    job = await ann.start(graph(task("a", backoff_s=5)))
    await ann.fail(await ann.claim_one(), retry_after_s=1000)

    run_at = (await ann.task(job.tasks["a"]))["run_at"]
    left = await ann.connection.fetchval("SELECT $1::timestamptz - clock_timestamp()", run_at)
    assert 995 <= left.total_seconds() <= 1000


async def test_with_nothing_to_wait_for_it_is_tried_again_at_once(ann: LedgerClient) -> None:
    await ann.start(graph(task("a")))
    await ann.fail(await ann.claim_one(), retry_after_s=0)
    assert (await ann.claim_one()).attempt == 2


@pytest.mark.parametrize("seconds", [math.nan, math.inf, -math.inf, -5.0, 3e38])
async def test_no_pause_a_task_can_name_breaks_the_report(ann: LedgerClient, seconds: float) -> None:
    """A report that cannot be recorded would leave the task to run out its lease, again and again."""
    job = await ann.start(graph(task("a")))

    assert await ann.fail(await ann.claim_one(), retry_after_s=seconds) == ["retrying"]

    assert math.isfinite((await ann.task(job.tasks["a"]))["run_at"].timestamp())


async def test_the_clock_of_idle_workers_is_that_of_the_next_delayed_task(ann: LedgerClient) -> None:
    await ann.start(graph(task("a"), task("b")))
    next_due = "SELECT shoal.next_due_s('{}')"
    assert await ann.connection.fetchval(next_due) is None

    for claim, seconds in zip(await ann.claim(2), (900.0, 60.0), strict=True):
        await ann.fail(claim, retry_after_s=seconds)
    assert 55 <= await ann.connection.fetchval(next_due) <= 60

    await ann.let_delays_pass()
    assert await ann.connection.fetchval(next_due) == 0


async def test_a_delay_that_has_passed_ends_with_the_next_claim(ann: LedgerClient) -> None:
    await ann.start(graph(task("a")), run_at=await ann.connection.fetchval("SELECT now() - interval '1 day'"))
    assert [claim.task_name for claim in await ann.claim(9)] == ["a"]


async def test_what_failed_comes_back_to_its_place_in_line(ann: LedgerClient) -> None:
    await ann.start(graph(task("failed-once")))
    await ann.fail(await ann.claim_one(), retry_after_s=100)
    await ann.start(graph(task("came-meanwhile")))
    await ann.let_delays_pass()

    assert [claim.task_name for claim in await ann.claim(9)] == ["failed-once", "came-meanwhile"]


async def test_a_released_task_has_burned_no_attempt_and_is_ready_at_once(
    ann: LedgerClient, bob: LedgerClient
) -> None:
    job = await ann.start(graph(task("a", max_attempts=1)))
    for _ in range(3):
        claim = await ann.claim_one()
        await ann.heartbeat(claim, progress=0.5)
        assert await ann.release(claim) == 1
        assert (await ann.task(job.tasks["a"]))["attempts"] == 0

    assert (await bob.claim_one()).attempt == 1


async def test_a_released_task_keeps_its_place_in_line(ann: LedgerClient) -> None:
    await ann.start(graph(task("first")))
    await ann.start(graph(task("second")))
    await ann.release(await ann.claim_one())
    assert [claim.task_name for claim in await ann.claim(9)] == ["first", "second"]


async def test_an_error_of_any_length_is_kept_as_far_as_it_fits(ann: LedgerClient) -> None:
    job = await ann.start(graph(task("a")))
    await ann.fail(await ann.claim_one(), error="x" * 100_000, permanent=True)
    assert (await ann.task(job.tasks["a"]))["error"] == "x" * 16384
    assert (await ann.job(job.id))["error"] == "x" * 16384
