"""Many jobs in one call: all or none, in order, with or without what they are made of."""

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from shoal.runtime.errors import Conflict, Forbidden, Invalid, NotFound, ShoalError, TooLarge
from shoal.runtime.refusals import translate

from .ledger_client import OWNER, LedgerClient, graph, task
from .races import refused


@pytest.fixture(autouse=True)
async def known_type(ann: LedgerClient) -> None:
    await ann.register(phases=[("leaves", 80), ("sums", 100)])


async def create(client: LedgerClient, jobs: object, *, on_conflict: str = "reject") -> list[UUID]:
    created: list[UUID] = await client.connection.fetchval(
        "SELECT create_jobs($1, $2, $3)", jobs, OWNER, on_conflict
    )
    return created


async def test_ten_thousand_in_one_call_in_the_order_given(ann: LedgerClient) -> None:
    ids = await create(ann, [{"type": "graph", "params": {"number": n}} for n in range(10_000)])

    rows = await ann.connection.fetch("SELECT id, params FROM jobs")
    numbers = {row["id"]: row["params"]["number"] for row in rows}
    assert [numbers[id_] for id_ in ids] == list(range(10_000))
    claims = await ann.claim(20_000, types=["plan:graph"])
    assert [claim.job_id for claim in claims] == ids


async def test_jobs_with_graphs_need_no_plan(ann: LedgerClient) -> None:
    made = graph(
        {"name": "leaf", "task_type": "work", "each": [{"n": 1}, {"n": 2}, {"n": 3}], "phase": "leaves"},
        task("sum", "leaf", phase="sums"),
        result="sum",
    )
    ids = await create(ann, [{"type": "graph", "graph": made}] * 3)

    assert await ann.claim(9, types=["plan:graph"]) == []
    leaves = await ann.claim(99)
    assert [claim.job_id for claim in leaves] == [id_ for id_ in ids for _ in range(3)]
    assert [claim.input for claim in leaves[:3]] == [{"n": 1}, {"n": 2}, {"n": 3}]
    for leaf in leaves:
        await ann.complete(leaf, output=leaf.input["n"])
    sums = await ann.claim(99)
    assert [claim.needs for claim in sums] == [{"leaf-1": 1, "leaf-2": 2, "leaf-3": 3}] * 3
    await ann.complete(*sums, output=6)
    for id_ in ids:
        job = await ann.job(id_)
        assert (job["status"], job["result"], job["phase_total"]) == ("complete", 6, [0, 3, 1])


BIG = {"text": "a" * 70_000}


@pytest.mark.parametrize(
    ("wrong", "kind", "code"),
    [
        ({"type": "unheard_of"}, NotFound, "unknown_job_type"),
        ({"type": "graph", "params": BIG}, TooLarge, "job_params_too_large"),
        ({"type": "graph", "graph": graph(task("a", "b"))}, Invalid, "invalid_graph"),
        ({"type": "graph", "graph": graph(task("a", input=BIG))}, TooLarge, "task_input_too_large"),
        ({"type": "graph", "unique_key": "taken"}, Conflict, "job_exists"),
        ({"type": "graph", "run_at": "infinity"}, Invalid, "run_at_infinite"),
    ],
)
@pytest.mark.parametrize("place", [0, 3, 6])
async def test_the_first_wrong_job_is_named(
    ann: LedgerClient, wrong: dict[str, Any], kind: type[ShoalError], code: str, place: int
) -> None:
    await ann.create(unique_key="taken")
    jobs: list[dict[str, Any]] = [{"type": "graph", "params": {"n": n}} for n in range(7)]
    jobs[place] = wrong
    with pytest.raises(asyncpg.PostgresError) as caught:
        await create(ann, jobs)
    error = translate(caught.value)
    assert (type(error), error and error.code) == (kind, code)
    assert error is not None
    assert error.message.startswith(f"jobs[{place}]: ")
    assert await ann.connection.fetchval("SELECT count(*) FROM jobs") == 1


@pytest.mark.parametrize(
    "wrong",
    [
        7,
        {"type": "graph", "priority": 1000},
        {"type": "graph", "priority": "a"},
        {"type": "graph", "run_at": "x"},
    ],
)
async def test_what_is_no_job_at_all_is_named_too(ann: LedgerClient, wrong: object) -> None:
    with pytest.raises(asyncpg.PostgresError, match=r"^jobs\[1\]: "):
        await create(ann, [{"type": "graph"}, wrong])


async def test_the_second_of_two_jobs_with_one_key_is_named(ann: LedgerClient) -> None:
    with pytest.raises(asyncpg.PostgresError, match=r"^jobs\[2\]: A graph job with the key 'k' is alive"):
        await create(ann, [{"type": "graph", "unique_key": key} for key in ("k", "l", "k", "m")])


async def test_a_repeated_batch_returns_the_same_jobs(ann: LedgerClient) -> None:
    batch = "SELECT create_jobs($1, $2, p_idempotency_key => $3)"
    jobs = [{"type": "graph", "params": {"n": n}} for n in range(3)]

    first = await ann.connection.fetchval(batch, jobs, OWNER, "import-1")
    again = await ann.connection.fetchval(batch, jobs, OWNER, "import-1")

    assert first == again
    assert await ann.connection.fetchval("SELECT count(*) FROM jobs") == 3
    for other in (jobs[:2], [*jobs[1:], jobs[0]]):
        with refused(Conflict, "idempotency_key_reused"):
            await ann.connection.fetchval(batch, other, OWNER, "import-1")
    with refused(Conflict, "idempotency_key_reused"):
        await ann.create(idempotency_key="import-1")


async def test_a_batch_is_planned_in_time_that_grows_with_it_alone(ann: LedgerClient) -> None:
    """Each job looks neither at its neighbours nor at what they have just been given."""
    made = graph(task("one", input={"n": 1}), result="one")
    ids = await create(ann, [{"type": "graph", "graph": made}] * 5_000)

    turns = {row["id"]: row["turn"] for row in await ann.connection.fetch("SELECT id, turn FROM jobs")}
    steps = {turns[later] - turns[job] for job, later in itertools.pairwise(ids)}
    assert steps == {1_000_001}


async def test_one_wrong_job_spoils_all(ann: LedgerClient) -> None:
    with refused(NotFound, "unknown_job_type"):
        await create(ann, [{"type": "graph"}, {"type": "unheard_of"}])
    with refused(Invalid, "invalid_graph"):
        await create(ann, [{"type": "graph"}, {"type": "graph", "graph": graph(task("a", "b"))}])
    assert await ann.connection.fetchval("SELECT count(*) FROM jobs") == 0


@pytest.mark.parametrize("wrong", [[], {}, None, "x", [{"type": "graph"}] * 10_001])
async def test_it_takes_a_list_of_one_to_ten_thousand(ann: LedgerClient, wrong: object) -> None:
    with refused(Invalid, "wrong_number_of_jobs"):
        await create(ann, wrong)


async def test_a_user_cannot_say_what_a_job_is_made_of(ann: LedgerClient) -> None:
    """Else anybody could have any task run with any input."""
    async with ann.connection.transaction():
        await ann.connection.execute("SET LOCAL ROLE authenticated")
        await ann.connection.execute(
            "SELECT set_config('request.jwt.claims', $1, true)",
            f'{{"sub": "{OWNER}", "role": "authenticated"}}',
        )
        assert len(await create(ann, [{"type": "graph"}])) == 1
        with refused(Forbidden, "graph_not_allowed"):
            await create(ann, [{"type": "graph", "graph": graph(task("a"))}])


async def test_a_living_key_is_refused_or_answered_with_the_living_job(ann: LedgerClient) -> None:
    living = await ann.create(unique_key="k1")
    asked: list[dict[str, Any]] = [{"type": "graph", "unique_key": key} for key in ("k0", "k1", "k2", "k2")]
    with refused(Conflict, "job_exists"):
        await create(ann, asked)

    k0, k1, k2, again = await create(ann, asked, on_conflict="existing")

    assert (k1, again) == (living, k2)
    assert len({k0, k1, k2}) == 3
    assert await ann.connection.fetchval("SELECT count(*) FROM jobs") == 3
    assert await ann.connection.fetchval("SELECT count(*) FROM job_tasks") == 3


async def test_a_later_start_holds_for_graphs_too(ann: LedgerClient) -> None:
    later = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    made = graph(task("a"), task("b", "a"))
    await create(ann, [{"type": "graph", "graph": made, "run_at": later}])
    assert await ann.claim(9) == []
    await ann.let_delays_pass()
    (claim,) = await ann.claim(9)
    assert claim.task_name == "a"


async def test_no_job_starts_at_infinity(ann: LedgerClient) -> None:
    with refused(Invalid, "run_at_infinite"):
        await create(ann, [{"type": "graph", "run_at": "infinity"}])


async def test_an_empty_graph_and_an_empty_list_of_inputs(ann: LedgerClient) -> None:
    """Nothing to wait for: whoever needs the tasks of an empty list runs at once."""
    made = graph({"name": "none", "task_type": "work", "each": []}, task("after", "none"))
    (job,) = await create(ann, [{"type": "graph", "graph": made}])
    (claim,) = await ann.claim(9)
    assert (claim.task_name, claim.needs) == ("after", None)
    await ann.complete(claim)
    assert (await ann.job(job))["status"] == "complete"


async def test_a_job_that_is_made_of_nothing_is_complete(ann: LedgerClient) -> None:
    (job,) = await create(ann, [{"type": "graph", "graph": graph()}])
    row = await ann.job(job)
    assert (row["status"], row["finished_at"] is None) == ("complete", False)
