"""One connection, and the ledger's functions called on it as a worker of one name calls them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import msgspec

from shoal.ledger.connection import Connection, Row
from shoal.worker.claims import sql
from shoal.worker.held import Claim

JOB_TYPE = "graph"
TASK_TYPE = "work"
OWNER = UUID("00000000-0000-4000-8000-0000000000aa")

Graph = dict[str, Any]

REGISTER = "SELECT shoal.register_job_type($1, '1', '{}', $2)"
TASKS_OF_JOB = "SELECT * FROM job_tasks WHERE job_id = $1 ORDER BY sequence"

# How a client written from the seed adds an artifact: without a claim token, with a link it has signed.
INSERT_AS_THE_SEED = """
INSERT INTO job_artifacts (job_id, task_id, artifact_type, storage_path, public_url, file_size_bytes,
  duration_seconds) VALUES ($1, $2, 'audio_mp3', $3, 'https://example.org/signed', 123, 180)
"""

SILENCE = (
    """UPDATE job_tasks SET claimed_at = claimed_at - interval '2 hours'
        WHERE status = 'claimed' AND ($1::uuid[] IS NULL OR id = ANY ($1))""",
    """UPDATE task_leases SET heartbeat_at = heartbeat_at - interval '2 hours'
        WHERE $1::uuid[] IS NULL OR task_id = ANY ($1)""",
)


def task(name: str, *needs: str, **more: Any) -> dict[str, Any]:
    """A task of a graph, as ``plan_jobs`` takes it: its name, what it needs, and what else is said of it."""
    return {"name": name, "task_type": TASK_TYPE, "needs": list(needs), **more}


def graph(*tasks: Mapping[str, Any], result: str | None = None) -> Graph:
    return {"tasks": list(tasks), "result": result}


@dataclass(frozen=True)
class PlannedJob:
    id: UUID
    tasks: dict[str, UUID]


class LedgerClient:
    def __init__(self, connection: Connection, *, worker: str = "ann") -> None:
        self.connection = connection
        self.worker = worker

    # Starting

    async def register(self, job_type: str = JOB_TYPE, phases: Sequence[tuple[str, float]] = ()) -> None:
        written = [{"name": name, "ends": ends} for name, ends in phases]
        await self.connection.execute(REGISTER, job_type, written)

    async def create(self, job_type: str = JOB_TYPE, **given: Any) -> UUID:
        """``create_job`` by named parameters, as PostgREST and everybody else calls it."""
        values = {"type": job_type, "user_id": OWNER, **given}
        named = ", ".join(f"p_{name} => ${number}" for number, name in enumerate(values, start=1))
        job: UUID = await self.connection.fetchval(f"SELECT create_job({named})", *values.values())
        return job

    async def start(self, planned: Graph, *, job_type: str = JOB_TYPE, **given: Any) -> PlannedJob:
        """A job whose graph has been planned: nothing of it is claimed yet."""
        await self.register_once(job_type)
        job = await self.create(job_type, **given)
        (claim,) = await self.claim(1, types=[f"plan:{job_type}"])
        assert claim.job_id == job
        assert await self.plan(claim, planned)
        return PlannedJob(job, {row["name"]: row["id"] for row in await self.tasks(job)})

    async def register_once(self, job_type: str) -> None:
        known = "SELECT EXISTS (SELECT FROM job_types WHERE type = $1)"
        if not await self.connection.fetchval(known, job_type):
            await self.register(job_type)

    async def plan(self, claim: Claim, planned: object) -> bool:
        return await self.plan_all((claim, planned)) == ["completed"]

    async def plan_all(self, *planned: tuple[Claim, object]) -> list[str]:
        """The verdicts, in order; what was planned before by the same claim is as good."""
        rows = await sql.plan_jobs.rows(
            self.connection,
            worker_id=self.worker,
            task_ids=[claim.task_id for claim, _ in planned],
            claim_tokens=[claim.token for claim, _ in planned],
            graphs=[msgspec.json.encode(graph).decode() for _, graph in planned],
        )
        verdicts = {row["task_id"]: row["verdict"] for row in rows}
        said = [verdicts.get(claim.task_id, "completed") for claim, _ in planned]
        return ["completed" if verdict == "already_completed" else verdict for verdict in said]

    # Working

    async def claim(
        self,
        at_most: int = 1,
        *,
        types: Sequence[str] = (TASK_TYPE,),
        token: UUID | None = None,
        repeated: bool = False,
        lease_s: int = 30,
    ) -> list[Claim]:
        token = token or uuid4()
        rows = await sql.claim_tasks.rows(
            self.connection,
            worker_id=self.worker,
            max_tasks=at_most,
            task_types=list(types),
            lease_s=lease_s,
            claim_token=token,
            repeated=repeated,
        )
        return [Claim(token, *row) for row in rows]

    async def claim_one(self, *, token: UUID | None = None) -> Claim:
        (claim,) = await self.claim(1, token=token)
        return claim

    async def heartbeat(self, *claims: Claim, progress: float = 0.0, message: str = "") -> set[UUID]:
        rows = await sql.heartbeat_tasks.rows(
            self.connection,
            worker_id=self.worker,
            task_ids=[claim.task_id for claim in claims],
            claim_tokens=[claim.token for claim in claims],
            progress=[progress] * len(claims),
            messages=[message] * len(claims),
        )
        return {row["held"] for row in rows}

    async def complete(self, *claims: Claim, output: object = None) -> list[str]:
        """The verdict on each; ``completed`` is what the ledger says by saying nothing."""
        rows = await sql.complete_tasks.rows(
            self.connection,
            worker_id=self.worker,
            task_ids=[claim.task_id for claim in claims],
            claim_tokens=[claim.token for claim in claims],
            outputs=[None if output is None else msgspec.json.encode(output).decode()] * len(claims),
        )
        verdicts = {row["task_id"]: str(row["verdict"]) for row in rows}
        return [verdicts.get(claim.task_id, "completed") for claim in claims]

    async def fail(
        self,
        *claims: Claim,
        error: str = "no",
        permanent: bool = False,
        retry_after_s: float | None = None,
    ) -> list[str]:
        rows = await sql.fail_tasks.rows(
            self.connection,
            worker_id=self.worker,
            task_ids=[claim.task_id for claim in claims],
            claim_tokens=[claim.token for claim in claims],
            errors=[error] * len(claims),
            permanent=[permanent] * len(claims),
            retry_after_s=[retry_after_s] * len(claims),
        )
        verdicts = {row["task_id"]: str(row["verdict"]) for row in rows}
        return [verdicts[claim.task_id] for claim in claims]

    async def release(self, *claims: Claim) -> int:
        return int(
            await sql.release_tasks.value(
                self.connection,
                worker_id=self.worker,
                task_ids=[claim.task_id for claim in claims],
                claim_tokens=[claim.token for claim in claims],
            )
        )

    async def snooze(self, *claims: Claim, after_s: float) -> list[str]:
        rows = await sql.snooze_tasks.rows(
            self.connection,
            worker_id=self.worker,
            task_ids=[claim.task_id for claim in claims],
            claim_tokens=[claim.token for claim in claims],
            after_s=[after_s] * len(claims),
        )
        verdicts = {row["task_id"]: str(row["verdict"]) for row in rows}
        return [verdicts[claim.task_id] for claim in claims]

    async def add_artifact(self, claim: Claim, path: str) -> bool:
        row = {"name": path, "artifact_type": "text", "storage_path": path, "file_size_bytes": 1}
        return bool(
            await sql.add_artifacts.value(
                self.connection,
                worker_id=self.worker,
                task_id=claim.task_id,
                claim_token=claim.token,
                artifacts=[{"content_type": "text/plain", **row}],
            )
        )

    async def add_logs(self, lines: Iterable[tuple[Claim, str]]) -> None:
        written = list(lines)
        now = await self.connection.fetchval("SELECT clock_timestamp()")
        await sql.add_logs.run(
            self.connection,
            worker_id=self.worker,
            task_ids=[claim.task_id for claim, _ in written],
            claim_tokens=[claim.token for claim, _ in written],
            at=[now] * len(written),
            levels=["info"] * len(written),
            lines=[line for _, line in written],
        )

    # Intervening

    async def cancel_job(self, job: UUID) -> str:
        return str(await self.connection.fetchval("SELECT cancel_job($1)", job))

    async def cancel_task(self, task_id: UUID) -> str:
        return str(await self.connection.fetchval("SELECT cancel_task($1)", task_id))

    async def retry_job(self, job: UUID) -> int:
        return int(await self.connection.fetchval("SELECT retry_job($1)", job))

    async def retry_task(self, task_id: UUID) -> int:
        return int(await self.connection.fetchval("SELECT retry_task($1)", task_id))

    async def reclaim(self) -> int:
        return int(await self.connection.fetchval("SELECT reclaim_stale_tasks()"))

    # Making time pass

    async def let_leases_run_out(self, *claims: Claim) -> None:
        """As if nothing had been heard of these for two hours; of all claimed tasks, if none are given."""
        ids = [claim.task_id for claim in claims] or None
        for silence in SILENCE:
            await self.connection.execute(silence, ids)

    async def let_delays_pass(self) -> None:
        await self.connection.execute(
            "UPDATE job_tasks SET run_at = clock_timestamp() WHERE delayed AND status = 'pending'"
        )

    # Looking

    async def job(self, job: UUID) -> Row:
        row: Row | None = await self.connection.fetchrow("SELECT * FROM jobs WHERE id = $1", job)
        assert row is not None
        return row

    async def tasks(self, job: UUID) -> list[Row]:
        return list(await self.connection.fetch(TASKS_OF_JOB, job))

    async def task(self, task_id: UUID) -> Row:
        row: Row | None = await self.connection.fetchrow("SELECT * FROM job_tasks WHERE id = $1", task_id)
        assert row is not None
        return row

    async def statuses(self, job: UUID) -> dict[str, str]:
        """Of each task by its name; the plan task aside."""
        return {row["name"]: row["status"] for row in await self.tasks(job) if row["name"] != "plan"}
