"""Planning: a plan task becomes the graph in one step; what is no graph is refused with the reason."""

import math
from typing import Any

import asyncpg
import pytest

from shoal.runtime.errors import Invalid, TooLarge
from shoal.worker.held import Claim

from .ledger_client import LedgerClient, graph, task
from .races import refused

PLAN = "plan:graph"

# What is wrong: (the graph, words of the reason)
NO_GRAPHS: dict[str, tuple[Any, str]] = {
    "nothing": (None, "no list of tasks"),
    "a list": ([task("a")], "no list of tasks"),
    "a number": (7, "no list of tasks"),
    "no tasks": ({}, "no list of tasks"),
    "tasks that are null": ({"tasks": None}, "no list of tasks"),
    "tasks that are an object": ({"tasks": {"a": task("a")}}, "no list of tasks"),
    "a task that is a text": ({"tasks": ["a"]}, "no name or no task_type"),
    "a task that is a list": ({"tasks": [[]]}, "no name or no task_type"),
    "no name": ({"tasks": [{"task_type": "work"}]}, "no name or no task_type"),
    "an empty name": (graph(task("")), "no name or no task_type"),
    "a name that is too long": (graph(task("x" * 256)), "no name or no task_type"),
    "no type": ({"tasks": [{"name": "a"}]}, "no name or no task_type"),
    "a type that is too long": (graph(task("a", task_type="x" * 128)), "no name or no task_type"),
    "a name twice": (graph(task("a"), task("b"), task("a")), "two tasks are named 'a'"),
    "a task that needs itself": (graph(task("a", "a")), "'a' needs 'a', which is not a task before it"),
    "a circle": (graph(task("a", "b"), task("b", "a")), "'a' needs 'b', which is not a task before it"),
    "a need nobody knows": (graph(task("a"), task("b", "x")), "'b' needs 'x', which is not a task before it"),
    "a later need": (graph(task("b", "a"), task("a")), "'b' needs 'a', which is not a task before it"),
    "a need twice": (graph(task("a"), task("b", "a", "a")), "'b' needs 'a' twice"),
    "needs that are a text": (graph(task("a", needs="x")), "is not a list of names"),
    "needs that are an object": (graph(task("a", needs={"x": 1})), "is not a list of names"),
    "an unknown phase": (
        graph(task("a", phase="later")),
        "in the phase 'later', which the job does not have",
    ),
    "an unknown rule for failures": (graph(task("a", on_failure="pray")), "not fail, skip or ignore"),
    "an unknown executor": (graph(task("a", executor="magic")), "not worker, fleet or mesh"),
    "a plan": (graph(task("a", task_type=PLAN)), "cannot be a plan"),
    "no attempts": (graph(task("a", max_attempts=0)), "max_attempts of task 'a'"),
    "too many attempts": (graph(task("a", max_attempts=101)), "max_attempts of task 'a'"),
    "half an attempt": (graph(task("a", max_attempts=1.5)), "max_attempts of task 'a'"),
    "attempts that are a text": (graph(task("a", max_attempts="3")), "max_attempts of task 'a'"),
    "a negative pause": (graph(task("a", backoff_s=-1)), "backoff_s of task 'a'"),
    "a pause without end": (graph(task("a", backoff_s=1e300)), "backoff_s of task 'a'"),
    "a pause that is a list": (graph(task("a", backoff_s=[])), "backoff_s of task 'a'"),
    "a limit that is true": (graph(task("a", timeout_s=True)), "timeout_s of task 'a'"),
    "a limit too small to keep": (graph(task("a", timeout_s=1e-300)), "timeout_s of task 'a'"),
    "an unknown result": (graph(task("a"), result="b"), "the result is task 'b'"),
}


async def claim_plan(client: LedgerClient, **given: Any) -> Claim:
    await client.create(**given)
    (claim,) = await client.claim(1, types=[PLAN])
    return claim


async def test_what_is_no_graph_is_refused_with_the_reason(ann: LedgerClient) -> None:
    await ann.register()
    claim = await claim_plan(ann)
    for what, (planned, words) in NO_GRAPHS.items():
        with pytest.raises(asyncpg.PostgresError) as refusal:
            await ann.plan(claim, planned)
        assert (refusal.value.sqlstate, refusal.value.detail) == ("SH400", "invalid_graph"), what
        assert words in str(refusal.value), what
        assert [row["name"] for row in await ann.tasks(claim.job_id)] == ["plan"]
    assert await ann.plan(claim, graph(task("a")))


async def test_everything_that_is_said_of_a_task_is_kept(ann: LedgerClient) -> None:
    await ann.register(phases=[("text", 60), ("pdf", 100)])
    claim = await claim_plan(ann)
    said = {
        "input": {"n": [1, None]},
        "max_attempts": 7,
        "backoff_s": 0.5,
        "timeout_s": 30,
        "executor": "mesh",
    }
    await ann.plan(
        claim, graph(task("a", phase="pdf", **said), task("b", "a", on_failure="skip"), result="b")
    )

    _, a, b = await ann.tasks(claim.job_id)
    assert {name: a[name] for name in said} == said
    assert (a["phase"], b["phase"]) == (3, 2)
    assert (a["sequence"], b["sequence"], a["fan_out"], b["fan_in"], b["waiting_on"]) == (1, 2, 1, 1, 1)
    assert (b["max_attempts"], b["backoff_s"], b["timeout_s"], b["executor"]) == (3, 5.0, None, "worker")
    edges = await ann.connection.fetch("SELECT needs, task_id, on_failure FROM task_edges")
    assert [tuple(edge) for edge in edges] == [(a["id"], b["id"], "skip")]
    assert (await ann.job(claim.job_id))["result_sequence"] == b["sequence"]


async def test_what_is_null_was_not_said(ann: LedgerClient) -> None:
    await ann.register()
    claim = await claim_plan(ann)
    nothing = dict.fromkeys(
        ("phase", "on_failure", "executor", "max_attempts", "backoff_s", "timeout_s", "needs"), None
    )
    assert await ann.plan(claim, graph(task("a") | nothing))
    assert (await ann.tasks(claim.job_id))[1]["max_attempts"] == 3


async def test_a_graph_without_tasks_ends_its_job(ann: LedgerClient) -> None:
    job = await ann.start(graph())
    row = await ann.job(job.id)
    assert (row["status"], row["result"], row["progress"]["percent"]) == ("complete", None, 100)


async def test_planning_twice_under_one_claim_changes_nothing_and_is_true(ann: LedgerClient) -> None:
    """The reply to the first call may have been lost."""
    await ann.register()
    claim = await claim_plan(ann)
    assert await ann.plan(claim, graph(task("a"), task("b", "a")))
    before = await ann.tasks(claim.job_id)
    assert await ann.plan(claim, graph(task("other")))
    assert await ann.tasks(claim.job_id) == before


async def test_a_plan_that_lost_its_lease_plans_nothing(ann: LedgerClient, bob: LedgerClient) -> None:
    await ann.register()
    lost = await claim_plan(ann)
    await ann.let_leases_run_out()
    await ann.reclaim()
    (held,) = await bob.claim(1, types=[PLAN])
    assert await ann.plan(lost, graph(task("late"))) is False
    assert await bob.plan(held, graph(task("a")))
    assert await ann.plan(lost, graph(task("late"))) is False
    assert await bob.statuses(held.job_id) == {"a": "pending"}


async def test_an_input_over_the_limit_is_refused(ann: LedgerClient) -> None:
    await ann.register()
    claim = await claim_plan(ann)
    with refused(TooLarge, "task_input_too_large"):
        await ann.plan(claim, graph(task("a", input={"text": "x" * 65536})))
    with refused(Invalid, "text_not_storable"):
        await ann.plan(claim, graph(task("a", input={"text": "a\0b"})))
    assert await ann.plan(claim, graph(task("a", input={"text": "x" * 65000})))


async def test_an_output_over_the_limit_is_refused_and_the_task_still_held(ann: LedgerClient) -> None:
    """Trap 4.13: text inline in ``output`` without a cap."""
    await ann.start(graph(task("a")))
    held = await ann.claim_one()
    with refused(TooLarge, "task_output_too_large"):
        await ann.complete(held, output="x" * 65536)
    with refused(Invalid, "text_not_storable"):
        await ann.complete(held, output="a\0b")
    assert await ann.complete(held, output="x" * 65000) == ["completed"]


async def test_progress_goes_through_the_phases_as_declared(ann: LedgerClient) -> None:
    """The seed's example: calculating 5, text to 50, pdf to 70, audio to 95, finalizing to 99."""
    phases = {"calculating": 5, "text": 50, "pdf": 70, "audio": 95, "finalizing": 99}
    await ann.register(phases=list(phases.items()))
    documents = range(4)
    job = await ann.start(
        graph(
            task("chart", phase="calculating"),
            *(task(f"text{n}", "chart", phase="text") for n in documents),
            *(task(f"pdf{n}", f"text{n}", phase="pdf") for n in documents),
            *(task(f"mp3{n}", f"text{n}", phase="audio") for n in documents),
            task("end", *(f"{kind}{n}" for kind in ("pdf", "mp3") for n in documents), phase="finalizing"),
        )
    )
    seen = []
    while claims := await ann.claim(1):
        await ann.complete(*claims)
        seen.append((await ann.job(job.id))["progress"])

    percents = [progress["percent"] for progress in seen]
    assert percents == sorted(percents)
    assert percents[0] == 5
    assert percents[4] == 50
    assert [math.floor(5 + 45 * n / 4) for n in range(1, 4)] == percents[1:4]
    assert seen[1] == {"percent": 16, "phase": "text", "docsComplete": 1, "docsTotal": 4, "message": ""}
    assert seen[-1] == {"percent": 100, "phase": "complete", "docsComplete": 1, "docsTotal": 1, "message": ""}


async def test_plans_of_many_jobs_go_together_and_each_has_its_verdict(
    ann: LedgerClient, bob: LedgerClient
) -> None:
    await ann.register()
    lost = await claim_plan(ann)
    await ann.let_leases_run_out()
    await ann.reclaim()
    (again,) = await bob.claim(1, types=[PLAN])
    first, second = [await claim_plan(ann) for _ in range(2)]

    said = await ann.plan_all(
        (first, graph(task("a"), task("b", "a"))), (lost, graph(task("late"))), (second, graph())
    )

    assert said == ["completed", "lease_lost", "completed"]
    assert await ann.statuses(first.job_id) == {"a": "pending", "b": "pending"}
    assert await ann.statuses(again.job_id) == {}
    assert (await ann.job(second.job_id))["status"] == "complete"


async def test_of_plans_that_go_together_one_that_is_wrong_plans_none(ann: LedgerClient) -> None:
    await ann.register()
    good, bad = [await claim_plan(ann) for _ in range(2)]
    with pytest.raises(asyncpg.PostgresError, match="two tasks are named 'a'"):
        await ann.plan_all((good, graph(task("a"))), (bad, graph(task("a"), task("a"))))
    assert await ann.statuses(good.job_id) == {}
    assert await ann.plan(good, graph(task("a")))


async def test_jobs_planned_together_take_their_turns_one_after_the_other(ann: LedgerClient) -> None:
    await ann.register()
    claims = [await claim_plan(ann) for _ in range(3)]
    await ann.plan_all(*((claim, graph(task("a"), task("b"))) for claim in claims))

    turns = [(await ann.job(claim.job_id))["turn"] for claim in claims]
    assert turns == sorted(set(turns))
