"""Many jobs in one call: all or none, in order, with or without what they are made of."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from shoal.runtime.errors import Conflict, Forbidden, Invalid, NotFound

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
