"""A client written from the seed: RPC by named parameters as the service role, and direct inserts.

PostgREST calls ``rpc('f', {p_x: 1})`` as ``SELECT * FROM f(p_x => 1)`` in a transaction of its own, with
the role and the claims of the token set.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import msgspec
import pytest

from shoal.ledger.connection import Row

from .ledger_client import INSERT_AS_THE_SEED, OWNER, LedgerClient, graph, task

ACT_AS = "SELECT set_config('role', $1, true), set_config('request.jwt.claims', $2, true)"
SERVICE = {"role": "service_role"}


class SeedClient:
    """What the seed's TypeScript does, call by call."""

    def __init__(
        self,
        client: LedgerClient,
        worker_id: str = "worker-host-1",
        claims: Mapping[str, str] = SERVICE,
    ) -> None:
        self.connection = client.connection
        self.worker_id = worker_id
        self.claims = claims

    async def rpc(self, function: str, **given: Any) -> list[Row]:
        named = ", ".join(f"{name} => ${number}" for number, name in enumerate(given, start=1))
        # The names are those written in the tests.
        return await self.run(f"SELECT * FROM {function}({named})", *given.values())  # noqa: S608

    async def run(self, statement: str, *values: Any) -> list[Row]:
        async with self.connection.transaction():
            claims = msgspec.json.encode(self.claims).decode()
            await self.connection.execute(ACT_AS, self.claims["role"], claims)
            return list(await self.connection.fetch(statement, *values))

    async def claim(self, at_most: int, types: Sequence[str] = ("text_generation",)) -> list[Row]:
        return await self.rpc(
            "claim_tasks", p_worker_id=self.worker_id, p_max_tasks=at_most, p_task_types=list(types)
        )

    async def says_yes(self, function: str, task_id: UUID, **given: Any) -> bool:
        (row,) = await self.rpc(function, p_task_id=task_id, p_worker_id=self.worker_id, **given)
        return bool(row[0])

    async def start_job(self, types: Sequence[str]) -> UUID:
        """As the seed's API starts one: a row of ``jobs`` and one of ``job_tasks`` for each task."""
        (row,) = await self.run(
            "INSERT INTO jobs (user_id, type, params, status) VALUES ($1, 'nuclear_v2', '{}', 'queued') "
            "RETURNING id",
            OWNER,
        )
        for sequence, kind in enumerate(types):
            await self.run(
                "INSERT INTO job_tasks (job_id, task_type, sequence, input) VALUES ($1, $2, $3, $4)",
                row["id"],
                kind,
                sequence,
                {"chapter": sequence},
            )
        job: UUID = row["id"]
        return job

    async def artifacts(self, job: UUID) -> list[tuple[str, str | None]]:
        """What can be seen of a job's artifacts, and the links stored with them."""
        rows = await self.run(
            "SELECT storage_path, public_url FROM job_artifacts WHERE job_id = $1 ORDER BY 1", job
        )
        return [(row["storage_path"], row["public_url"]) for row in rows]


@pytest.fixture
def seed(ann: LedgerClient) -> SeedClient:
    return SeedClient(ann)


@pytest.fixture
def owner(ann: LedgerClient) -> SeedClient:
    """A browser with the token of the user whose jobs these are."""
    return SeedClient(ann, claims={"role": "authenticated", "sub": str(OWNER)})


async def test_the_whole_way_of_a_job(ann: LedgerClient, seed: SeedClient) -> None:
    job = await seed.start_job(["text_generation", "text_generation", "pdf_generation"])
    assert (await ann.job(job))["progress"]["percent"] == 0

    texts = await seed.claim(5)
    assert [(row["sequence"], row["status"], row["worker_id"]) for row in texts] == [
        (0, "claimed", "worker-host-1"),
        (1, "claimed", "worker-host-1"),
    ]
    assert [row["input"] for row in texts] == [{"chapter": 0}, {"chapter": 1}]
    assert all(row["claimed_at"] and row["attempts"] == 1 for row in texts)
    for row in texts:
        assert await seed.says_yes("heartbeat_task", row["id"])
        assert await seed.says_yes("complete_task", row["id"], p_output={"success": True})
    (pdf,) = await seed.claim(5, ["pdf_generation"])
    assert await seed.says_yes("complete_task", pdf["id"], p_output={"success": True})

    row = await ann.job(job)
    assert (row["status"], row["progress"]["percent"]) == ("complete", 100)
    assert (await ann.tasks(job))[0]["output"] == {"success": True}


async def test_a_failure_is_tried_again_until_its_attempts_are_used_up(
    ann: LedgerClient, seed: SeedClient
) -> None:
    job = await seed.start_job(["text_generation"])
    for attempt in (1, 2, 3):
        (row,) = await seed.claim(5)
        assert row["attempts"] == attempt
        assert await seed.says_yes("fail_task", row["id"], p_error="Claude is away")
        await ann.let_delays_pass()
    assert await seed.claim(5) == []
    assert (await ann.job(job))["error"] == "Claude is away"


async def test_the_watchdog_returns_a_count(ann: LedgerClient, seed: SeedClient) -> None:
    await seed.start_job(["text_generation"] * 3)
    await seed.claim(2)
    (row,) = await seed.rpc("reclaim_stale_tasks")
    assert row["reclaim_stale_tasks"] == 0
    await ann.let_leases_run_out()
    (row,) = await seed.rpc("reclaim_stale_tasks")
    assert row["reclaim_stale_tasks"] == 2


async def test_heartbeats_every_minute_keep_the_lease(ann: LedgerClient, seed: SeedClient) -> None:
    await seed.start_job(["text_generation"])
    await seed.claim(1)
    await ann.connection.execute("UPDATE job_tasks SET claimed_at = claimed_at - interval '170 s'")
    assert await ann.reclaim() == 0
    await ann.connection.execute("UPDATE job_tasks SET claimed_at = claimed_at - interval '20 s'")
    assert await ann.reclaim() == 1


async def test_without_a_token_the_worker_and_the_status_decide(ann: LedgerClient, seed: SeedClient) -> None:
    await seed.start_job(["text_generation"])
    (row,) = await seed.claim(1)
    stranger = SeedClient(ann, "somebody-else")
    for function in ("heartbeat_task", "complete_task", "fail_task"):
        assert not await stranger.says_yes(function, row["id"]), function
    assert await seed.says_yes("complete_task", row["id"])
    for function in ("heartbeat_task", "fail_task"):
        assert not await seed.says_yes(function, row["id"]), function


async def test_completing_twice_is_a_success_also_without_a_token(
    ann: LedgerClient, seed: SeedClient
) -> None:
    """The reply to the first call may have been lost: supabase-js tells it from a failure by nothing else."""
    job = await seed.start_job(["text_generation", "text_generation"])
    (row,) = await seed.claim(1)
    assert await seed.says_yes("complete_task", row["id"], p_output=1)
    assert await seed.says_yes("complete_task", row["id"], p_output=2)
    assert ((await ann.task(row["id"]))["output"], (await ann.job(job))["tasks_open"]) == (1, 1)


async def test_with_a_token_the_attempt_decides(ann: LedgerClient, seed: SeedClient) -> None:
    await seed.start_job(["text_generation"])
    (lost,) = await seed.claim(1)
    await ann.let_leases_run_out()
    await ann.reclaim()
    (held,) = await seed.claim(1)
    for function in ("heartbeat_task", "complete_task", "fail_task"):
        assert not await seed.says_yes(function, lost["id"], p_claim_token=lost["claim_token"]), function
    assert await seed.says_yes("complete_task", held["id"], p_claim_token=held["claim_token"])


async def test_a_claim_under_a_token_of_ones_own_can_be_repeated(seed: SeedClient) -> None:
    await seed.start_job(["text_generation"] * 4)
    given = {
        "p_worker_id": seed.worker_id,
        "p_max_tasks": 2,
        "p_task_types": ["text_generation"],
        "p_claim_token": uuid4(),
    }
    first = await seed.rpc("claim_tasks", **given)
    again = await seed.rpc("claim_tasks", **given)
    assert [row["id"] for row in again] == [row["id"] for row in first]
    assert [row["attempts"] for row in again] == [1, 1]


async def test_what_is_not_there_is_not_held(seed: SeedClient) -> None:
    for function in ("heartbeat_task", "complete_task", "fail_task"):
        assert not await seed.says_yes(function, uuid4()), function


async def test_an_artifact_is_inserted_directly_and_shown_when_its_task_completes(
    seed: SeedClient, owner: SeedClient
) -> None:
    job = await seed.start_job(["audio_generation"])
    (row,) = await seed.claim(1, ["audio_generation"])
    path = f"{OWNER}/{job}/audio/chapter1.mp3"
    await seed.run(INSERT_AS_THE_SEED, job, row["id"], path)
    assert await owner.artifacts(job) == []

    assert await seed.says_yes("complete_task", row["id"], p_output={"success": True})

    assert await owner.artifacts(job) == [(path, None)]


async def test_of_several_attempts_the_artifacts_of_the_one_that_completed_are_shown(
    ann: LedgerClient, seed: SeedClient, owner: SeedClient
) -> None:
    job = await seed.start_job(["audio_generation"])
    for attempt in (1, 2):
        (row,) = await seed.claim(1, ["audio_generation"])
        await seed.run(INSERT_AS_THE_SEED, job, row["id"], f"{attempt}.mp3")
        function = "fail_task" if attempt == 1 else "complete_task"
        assert await seed.says_yes(function, row["id"])
        await ann.let_delays_pass()
    assert await owner.artifacts(job) == [("2.mp3", None)]


async def test_the_service_starts_jobs_for_users_and_users_for_themselves(
    ann: LedgerClient, seed: SeedClient, owner: SeedClient
) -> None:
    await ann.register("nuclear_v2")
    given = {"p_type": "nuclear_v2", "p_params": {"systems": ["vedic"]}}
    (by_service,) = await seed.rpc("create_job", **given, p_user_id=OWNER)
    (by_owner,) = await owner.rpc("create_job", **given)

    seen = await owner.run("SELECT id, status, params, progress ->> 'phase' AS phase FROM jobs ORDER BY id")
    assert [tuple(row) for row in seen] == [
        (row["create_job"], "queued", given["p_params"], "queued") for row in (by_service, by_owner)
    ]


@pytest.mark.parametrize("role", ["anon", "authenticated"])
async def test_nobody_else_can_call_what_workers_call(ann: LedgerClient, role: str) -> None:
    """Trap 4.2: SECURITY DEFINER functions are executable by PUBLIC, so by any anon key."""
    job = await ann.start(graph(task("a", task_type="text_generation")))
    calls = (
        "claim_tasks(p_worker_id => 'thief', p_max_tasks => 9, p_task_types => ARRAY['text_generation'])",
        f"heartbeat_task(p_task_id => '{job.tasks['a']}', p_worker_id => 'thief')",
        f"complete_task(p_task_id => '{job.tasks['a']}', p_worker_id => 'thief', p_output => '{{}}')",
        f"fail_task(p_task_id => '{job.tasks['a']}', p_worker_id => 'thief', p_error => 'x')",
        "reclaim_stale_tasks()",
    )
    for call in calls:
        trying = ann.connection.transaction()
        await trying.start()
        await ann.connection.execute(f"SET LOCAL ROLE {role}")
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await ann.connection.fetch(f"SELECT * FROM {call}")  # noqa: S608 - written above
        await trying.rollback()
