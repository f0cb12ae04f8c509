"""Random graphs, random fates: the ledger and a small model of it agree after every step, to the end."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .drive import PHASES, Drive
from .graph_model import ENDED_BADLY, GraphModel, TaskModel
from .invariants import AT_THE_END, broken
from .ledger_client import LedgerClient

MOST_STEPS = 40


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


async def take_a_step(drive: Drive, data: st.DataObject) -> None:
    steps = ["claim"] * 2 if drive.ready() else []
    steps += ["report"] * 4 + ["claim again", "heartbeat"] if drive.held else []
    steps += ["report late"] if drive.lost else []
    match data.draw(st.sampled_from([*steps, "people"])):
        case "claim":
            await drive.claim(data.draw(st.integers(1, 4)))
        case "claim again":
            await drive.claim_again(data.draw(st.sampled_from(list(drive.held.values()))))
        case "heartbeat":
            await drive.heartbeat()
        case "report late":
            await drive.report_late(data.draw(st.sampled_from(drive.lost)))
        case "report":
            held = st.sampled_from(list(drive.held.values()))
            claims = data.draw(st.lists(held, min_size=1, max_size=3, unique_by=lambda claim: claim.task_id))
            bad = ["fail", "give up", "release", "snooze", "silence"]
            await drive.report(claims, data.draw(st.sampled_from(["complete"] * 4 + bad)))
        case _:
            await interfere(drive, data)


async def interfere(drive: Drive, data: st.DataObject) -> None:
    job = data.draw(st.sampled_from(list(drive.jobs.values())))
    choices = ["cancel a task", "nothing", "nothing", "nothing"]
    choices += ["cancel the job"] if data.draw(st.integers(0, 9)) == 9 else []
    choices += ["retry a task"] if drive.can_be_retried() else []
    match data.draw(st.sampled_from(choices)):
        case "cancel a task":
            await drive.cancel_task(job, data.draw(st.sampled_from(sorted(job.model.tasks))))
        case "cancel the job":
            await drive.cancel_job(job)
        case "retry a task":
            await drive.retry_task(*data.draw(st.sampled_from(drive.can_be_retried())))


async def finish(drive: Drive, data: st.DataObject) -> None:
    """Nobody interferes any more: every job comes to an end."""
    while drive.ready() or drive.held:
        await drive.claim(9)
        how = data.draw(st.sampled_from(["complete", "give up"]))
        await drive.report(list(drive.held.values())[:2], how)
        await drive.check()


@pytest.mark.timeout(600)  # it takes seconds, but minutes to make a failure small
@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,  # each example empties the database itself
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
    ],
)
@given(models=st.lists(models(), min_size=1, max_size=2), data=st.data())
async def test_the_ledger_does_what_the_model_does(
    ann: LedgerClient, models: list[GraphModel], data: st.DataObject
) -> None:
    drive = await Drive.begin(ann, models)
    await drive.check()
    for _ in range(data.draw(st.integers(0, MOST_STEPS))):
        await take_a_step(drive, data)
        await drive.check()
    await finish(drive, data)
    assert all(model.job_status() != "processing" for model in models)
    assert await broken(ann.connection, AT_THE_END) == []
    for job in drive.jobs.values():
        if job.model.named(*ENDED_BADLY):
            await drive.retry_job(job)
            await drive.check()
    await finish(drive, data)
