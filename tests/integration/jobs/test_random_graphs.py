"""Random graphs, random fates: the ledger and a small model of it agree after every step, to the end."""

from collections.abc import Callable

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shoal.ledger.connection import Row
from shoal.worker.held import Claim

from .graph_model import ENDED_BADLY, GraphModel, TaskModel
from .invariants import AT_THE_END, broken
from .ledger_client import LedgerClient, PlannedJob, graph, task

PHASES = (("one", 30.0), ("two", 80.0), ("three", 100.0))
MOST_STEPS = 60


@st.composite
def models(draw: st.DrawFn) -> GraphModel:
    names = [f"t{number}" for number in range(draw(st.integers(1, 9)))]
    return GraphModel(
        TaskModel(
            name=name,
            needs=draw(st.frozensets(st.sampled_from(names[:position]), max_size=4))
            if position
            else frozenset(),
            on_failure=draw(st.sampled_from(["fail", "skip", "ignore"])),
            phase=draw(st.integers(2, len(PHASES) + 1)),
            max_attempts=draw(st.integers(1, 3)),
        )
        for position, name in enumerate(names)
    )


def written(model: GraphModel) -> list[dict[str, object]]:
    return [
        task(
            one.name,
            *sorted(one.needs),
            on_failure=one.on_failure,
            phase=PHASES[one.phase - 2][0],
            max_attempts=one.max_attempts,
        )
        for one in model.tasks.values()
    ]


class Drive:
    """One job, in the ledger and in the model, taken through the same steps."""

    def __init__(self, client: LedgerClient, model: GraphModel, job: PlannedJob) -> None:
        self.client = client
        self.model = model
        self.job = job
        self.held: dict[str, Claim] = {}
        self.percent = 0
        self.went_back = False

    async def claim(self, at_most: int) -> None:
        ready = self.model.ready()
        claims = await self.client.claim(at_most)
        assert len(claims) == min(at_most, len(ready))
        for claim in claims:
            assert claim.task_name in ready
            self.model.claim(claim.task_name)
            assert claim.attempt == self.model.tasks[claim.task_name].attempts
            self.held[claim.task_name] = claim

    async def report(self, names: list[str], how: str) -> None:
        claims = [self.held.pop(name) for name in names]
        if how == "complete":
            assert await self.client.complete(*claims) == ["completed"] * len(claims)
        elif how == "release":
            assert await self.client.release(*claims) == len(claims)
        elif how == "silence":
            await self.client.let_leases_run_out(*claims)
            assert await self.client.reclaim() == len(claims)
        else:
            await self.client.fail(*claims, permanent=how == "give up", retry_after_s=0)
        changes: dict[str, Callable[[str], None]] = {
            "complete": self.model.complete,
            "release": self.model.release,
            "silence": lambda name: self.model.fail(name, permanent=False),
            "fail": lambda name: self.model.fail(name, permanent=False),
            "give up": lambda name: self.model.fail(name, permanent=True),
        }
        for name in names:
            changes[how](name)

    async def cancel_task(self, name: str) -> None:
        self.model.cancel_task(name)
        assert await self.client.cancel_task(self.job.tasks[name]) == self.model.tasks[name].status
        self._forget_what_is_lost()

    async def cancel_job(self) -> None:
        self.model.cancel_job()
        assert await self.client.cancel_job(self.job.id) == self.model.job_status()
        self._forget_what_is_lost()

    async def retry(self, name: str | None) -> None:
        """One task with what is below it, if it can be tried again; or the whole job."""
        self.went_back = True
        if name is None:
            again = self.model.retry(self.model.tasks)
            assert await self.client.retry_job(self.job.id) == len(again)
        else:
            again = self.model.retry(self.model.below(name))
            assert await self.client.retry_task(self.job.tasks[name]) == len(again)

    def can_be_retried(self) -> list[str]:
        return sorted(
            name
            for name in self.model.named(*ENDED_BADLY)
            if not self.model._failed_needs(name)  # what it is about
        )

    def _forget_what_is_lost(self) -> None:
        self.held = {name: claim for name, claim in self.held.items() if name in self.model.named("claimed")}

    async def check(self) -> None:
        row = await self.client.job(self.job.id)
        assert await self.client.statuses(self.job.id) == self.model.statuses()
        assert row["status"] == self.model.job_status()
        self._check_progress(row)
        assert await broken(self.client.connection) == []

    def _check_progress(self, row: Row) -> None:
        counted = [self.model.done_in_phase(phase) for phase in range(2, len(PHASES) + 2)]
        assert list(zip(row["phase_done"], row["phase_total"], strict=True))[1:] == counted
        percent = row["progress"]["percent"]
        assert 0 <= percent <= 100
        assert percent >= self.percent or self.went_back
        self.percent, self.went_back = percent, False


async def take_a_step(drive: Drive, data: st.DataObject) -> None:
    held = sorted(drive.held)
    steps = ["claim"] if drive.model.ready() else []
    steps += ["report"] * 3 if held else []
    step = data.draw(st.sampled_from([*steps, "people"] if steps else ["people"]))
    if step == "claim":
        await drive.claim(data.draw(st.integers(1, 4)))
    elif step == "report":
        names = data.draw(st.lists(st.sampled_from(held), min_size=1, max_size=3, unique=True))
        how = st.sampled_from(["complete", "complete", "complete", "fail", "give up", "release", "silence"])
        await drive.report(names, data.draw(how))
    else:
        await interfere(drive, data)


async def interfere(drive: Drive, data: st.DataObject) -> None:
    choices = ["cancel a task", "nothing", "nothing", "nothing"]
    choices += ["cancel the job"] if data.draw(st.integers(0, 9)) == 9 else []
    choices += ["retry a task"] if drive.can_be_retried() else []
    match data.draw(st.sampled_from(choices)):
        case "cancel a task":
            await drive.cancel_task(data.draw(st.sampled_from(sorted(drive.model.tasks))))
        case "cancel the job":
            await drive.cancel_job()
        case "retry a task":
            await drive.retry(data.draw(st.sampled_from(drive.can_be_retried())))


async def finish(drive: Drive, data: st.DataObject) -> None:
    """Nobody interferes any more: the job comes to an end."""
    while drive.model.ready() or drive.held:
        await drive.claim(9)
        how = data.draw(st.sampled_from(["complete", "give up"]))
        await drive.report(sorted(drive.held)[:1], how)
        await drive.check()


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,  # each example empties the database itself
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
    ],
)
@given(model=models(), data=st.data())
async def test_the_ledger_does_what_the_model_does(
    ann: LedgerClient, model: GraphModel, data: st.DataObject
) -> None:
    await ann.connection.execute("DELETE FROM jobs")
    await ann.register(phases=PHASES)
    drive = Drive(ann, model, await ann.start(graph(*written(model))))
    await drive.check()
    for _ in range(data.draw(st.integers(0, MOST_STEPS))):
        await take_a_step(drive, data)
        await drive.check()
    await finish(drive, data)
    assert drive.model.job_status() != "processing"
    assert await broken(ann.connection, AT_THE_END) == []
    if drive.model.named(*ENDED_BADLY):
        await drive.retry(None)
        await drive.check()
        await finish(drive, data)
