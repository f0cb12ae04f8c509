"""Jobs in the ledger and in a model of it, taken through the same steps by one worker and some people.

The worker remembers every claim it ever had. What it says about one it has lost changes nothing.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import floor
from uuid import UUID

from shoal.jobs.model import Phase
from shoal.ledger.connection import Row
from shoal.worker.held import Claim
from tests.support.progress import reached

from .graph_model import ENDED_BADLY, GraphModel
from .invariants import broken
from .ledger_client import LedgerClient, PlannedJob, graph, task

PHASES = (("one", 30.0), ("two", 80.0), ("three", 100.0))
ROUNDING = Fraction(1, 10_000)  # the ledger counts with single precision

# What can be seen of artifacts: those of attempts that completed.
SEEN = """
SELECT a.task_id, a.claim_token FROM job_artifacts a JOIN job_tasks t ON t.id = a.task_id
 WHERE t.status = 'complete' AND t.claim_token = a.claim_token
"""

# What each report means for tasks of the model.
REPORTS: Mapping[str, Callable[[GraphModel, list[str]], None]] = {
    "complete": GraphModel.complete,
    "release": GraphModel.release,
    "snooze": GraphModel.release,
    "fail": lambda model, names: model.fail(names, permanent=False),
    "silence": lambda model, names: model.fail(names, permanent=False),
    "give up": lambda model, names: model.fail(names, permanent=True),
}


def written(model: GraphModel) -> dict[str, object]:
    return graph(
        *(
            task(
                one.name,
                *sorted(one.needs),
                on_failure=one.on_failure,
                phase=PHASES[one.phase - 2][0],
                max_attempts=one.max_attempts,
            )
            for one in model.tasks.values()
        )
    )


@dataclass
class DrivenJob:
    model: GraphModel
    planned: PlannedJob
    percent: int = 0
    went_back: bool = False


@dataclass
class Drive:
    client: LedgerClient
    jobs: dict[UUID, DrivenJob]
    held: dict[UUID, Claim] = field(default_factory=dict)
    lost: list[Claim] = field(default_factory=list)
    completed: dict[UUID, Claim] = field(default_factory=dict)

    @classmethod
    async def begin(cls, client: LedgerClient, models: Iterable[GraphModel]) -> "Drive":
        await client.connection.execute("DELETE FROM jobs")
        await client.register(phases=PHASES)
        driven = [DrivenJob(model, await client.start(written(model))) for model in models]
        return cls(client, {job.planned.id: job for job in driven})

    def ready(self) -> set[tuple[UUID, str]]:
        return {(job_id, name) for job_id, job in self.jobs.items() for name in job.model.ready()}

    # What the worker does

    async def claim(self, at_most: int) -> None:
        ready = self.ready()
        claims = await self.client.claim(at_most)
        assert len(claims) == min(at_most, len(ready))
        assert {(claim.job_id, claim.task_name) for claim in claims} <= ready
        for claim in claims:
            model = self.jobs[claim.job_id].model
            model.claim(claim.task_name)
            assert claim.attempt == model.tasks[claim.task_name].attempts
            self.held[claim.task_id] = claim
            assert await self.client.add_artifact(claim, f"{claim.task_name}/{claim.token}")

    async def claim_again(self, claim: Claim) -> None:
        """The reply to the claim was lost, so it is asked for once more."""
        same = {task_id for task_id, held in self.held.items() if held.token == claim.token}
        again = await self.client.claim(9, token=claim.token, repeated=True)
        assert {one.task_id for one in again} == same

    async def heartbeat(self) -> None:
        """For everything it ever had: the answer tells what it still has."""
        assert await self.client.heartbeat(*self.lost, *self.held.values(), progress=0.5) == set(self.held)

    async def report(self, claims: list[Claim], how: str) -> None:
        assert await self._say(claims, how) is None
        for job_id, job in self.jobs.items():
            REPORTS[how](job.model, [claim.task_name for claim in claims if claim.job_id == job_id])
        for claim in claims:
            self._lose(claim)
            if how == "complete":
                self.completed[claim.task_id] = claim

    async def _say(self, claims: list[Claim], how: str) -> str | None:
        """What is wrong with the answer."""
        client, verdicts, count = self.client, set[str](), len(claims)
        match how:
            case "complete":
                verdicts = set(await client.complete(*claims, output=1)) - {"completed"}
            case "release":
                count = await client.release(*claims)
            case "snooze":
                verdicts = set(await client.snooze(*claims, after_s=0)) - {"snoozed"}
            case "silence":
                await client.let_leases_run_out(*claims)
                count = await client.reclaim()
            case _:
                said = await client.fail(*claims, permanent=how == "give up", retry_after_s=0)
                verdicts = set(said) - {"failed", "retrying"}
        return None if not verdicts and count == len(claims) else f"{how}: {count}, {verdicts}"

    async def report_late(self, claim: Claim) -> None:
        """Everything that can be said about a claim that is lost; nothing of it counts."""
        done = self.completed.get(claim.task_id)
        again = "already_completed" if done and done.token == claim.token else "lease_lost"
        assert await self.client.complete(claim, output=2) == [again]
        assert await self.client.fail(claim) == ["lease_lost"]
        assert await self.client.snooze(claim, after_s=0) == ["lease_lost"]
        assert await self.client.release(claim) == 0
        assert not await self.client.add_artifact(claim, "late")

    # What people do

    async def cancel_task(self, job: DrivenJob, name: str) -> None:
        job.model.cancel_task(name)
        assert await self.client.cancel_task(job.planned.tasks[name]) == job.model.tasks[name].status
        self._lose_what_is_not_claimed()

    async def cancel_job(self, job: DrivenJob) -> None:
        job.model.cancel_job()
        assert await self.client.cancel_job(job.planned.id) == job.model.job_status()
        self._lose_what_is_not_claimed()

    async def retry_task(self, job: DrivenJob, name: str) -> None:
        """With what is below it."""
        job.went_back = True
        again = job.model.retry(job.model.below(name))
        assert await self.client.retry_task(job.planned.tasks[name]) == len(again)

    async def retry_job(self, job: DrivenJob) -> None:
        job.went_back = True
        again = job.model.retry(job.model.tasks)
        assert await self.client.retry_job(job.planned.id) == len(again)

    def can_be_retried(self) -> list[tuple[DrivenJob, str]]:
        return [
            (job, name)
            for job in self.jobs.values()
            for name in sorted(job.model.named(*ENDED_BADLY))
            if not job.model.failed_needs(name)
        ]

    # What holds after each step

    async def check(self) -> None:
        for job in self.jobs.values():
            rows = {row["name"]: row for row in await self.client.tasks(job.planned.id)}
            for name, one in job.model.tasks.items():
                assert (rows[name]["status"], rows[name]["attempts"]) == (one.status, one.attempts), name
            row = await self.client.job(job.planned.id)
            assert row["status"] == job.model.job_status()
            self._check_progress(job, row)
        seen = [tuple(row) for row in await self.client.connection.fetch(SEEN)]
        assert sorted(seen) == sorted((task_id, claim.token) for task_id, claim in self.completed.items())
        assert await broken(self.client.connection) == []

    def _check_progress(self, job: DrivenJob, row: Row) -> None:
        counted = [Phase("planning", 0.0, 1, 1)] + [
            Phase(name, ends, total, done)
            for number, (name, ends) in enumerate(PHASES, start=2)
            for done, total in [job.model.done_in_phase(number)]
        ]
        assert list(zip(row["phase_done"], row["phase_total"], strict=True)) == [
            (phase.done, phase.total) for phase in counted
        ]
        percent = row["progress"]["percent"]
        if row["status"] == "complete":
            assert percent == 100
        else:
            exact = min(reached(counted), Fraction(99))
            assert floor(exact - ROUNDING) <= percent <= floor(exact + ROUNDING)
        assert percent >= job.percent or job.went_back
        job.percent, job.went_back = percent, False

    def _lose_what_is_not_claimed(self) -> None:
        for claim in list(self.held.values()):
            if claim.task_name not in self.jobs[claim.job_id].model.named("claimed"):
                self._lose(claim)

    def _lose(self, claim: Claim) -> None:
        self.lost.append(self.held.pop(claim.task_id))
