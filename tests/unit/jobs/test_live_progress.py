"""Live progress: what is stored, moved on by what running tasks say, never back and never past the end."""

from dataclasses import replace
from fractions import Fraction
from math import floor

from hypothesis import given
from hypothesis import strategies as st

from shoal.jobs.model import Phase, RunningTask
from shoal.jobs.rules import live_progress
from shoal.wire.jobs import Progress
from tests.support.progress import reached

ROUNDING = Fraction(1, 1_000_000)

fractions = st.floats(allow_nan=False)


@st.composite
def phases_of_a_job(draw: st.DrawFn, least_tasks: int = 0) -> list[Phase]:
    ends = [*sorted(draw(st.sets(st.integers(1, 99), max_size=4))), 100]
    totals = draw(st.lists(st.integers(least_tasks, 9), min_size=len(ends), max_size=len(ends)))
    return [
        Phase(f"p{number}", float(end), total, draw(st.integers(0, total)))
        for number, (end, total) in enumerate(zip(ends, totals, strict=True), start=1)
    ]


@st.composite
def running_tasks(draw: st.DrawFn, phases: list[Phase]) -> list[RunningTask]:
    """At most as many as are open, of any of the phases, whatever they say."""
    return [
        RunningTask(number, draw(fractions), draw(st.sampled_from(["", "words"])))
        for number, phase in enumerate(phases, start=1)
        for _ in range(draw(st.integers(0, phase.total - phase.done)))
    ]


def stored(phases: list[Phase], phase: str = "p1") -> Progress:
    """As the ledger keeps it for a job that is being worked on."""
    percent = min(floor(reached(phases)), 99)
    return Progress(percent=percent, phase=phase, docs_complete=1, docs_total=2, message="stored")


@given(phases=phases_of_a_job(), data=st.data())
def test_it_never_goes_back_nor_ends_the_job(phases: list[Phase], data: st.DataObject) -> None:
    before = stored(phases)
    now = live_progress(before, phases, data.draw(running_tasks(phases)))
    assert before.percent <= now.percent <= 99
    assert (now.phase, now.docs_complete, now.docs_total) == ("p1", 1, 2)


@given(phases=phases_of_a_job(), data=st.data())
def test_a_task_that_gets_further_never_moves_it_back(phases: list[Phase], data: st.DataObject) -> None:
    running = data.draw(running_tasks(phases))
    further = [replace(task, fraction=max(task.fraction, data.draw(fractions))) for task in running]
    assert (
        live_progress(stored(phases), phases, further).percent
        >= live_progress(stored(phases), phases, running).percent
    )


@given(phases=phases_of_a_job(least_tasks=1), data=st.data())
def test_what_is_done_but_for_the_report_counts_as_done(phases: list[Phase], data: st.DataObject) -> None:
    running = [replace(task, fraction=1.0) for task in data.draw(running_tasks(phases))]
    reported = [
        replace(phase, done=phase.done + sum(task.phase == number for task in running))
        for number, phase in enumerate(phases, start=1)
    ]
    now = live_progress(stored(phases), phases, running).percent
    exact = min(reached(reported), Fraction(99))
    assert floor(exact - ROUNDING) <= now <= floor(exact + ROUNDING)


def test_while_nothing_runs_it_is_what_is_stored() -> None:
    phases = [Phase("p1", 100.0, 4, 1)]
    assert live_progress(stored(phases), phases, []) == stored(phases)


def test_a_job_that_has_not_begun_or_is_complete_stays_so() -> None:
    phases = [Phase("p1", 100.0, 4, 1)]
    for phase in ("queued", "complete"):
        before = stored(phases, phase)
        assert live_progress(before, phases, [RunningTask(1, 0.9, "words")]) == before


@given(st.lists(st.tuples(st.floats(0, 1), st.sampled_from(["", "a", "b"])), min_size=1, max_size=4))
def test_the_words_are_those_of_the_furthest_task_that_says_something(said: list[tuple[float, str]]) -> None:
    phases = [Phase("p1", 100.0, 4, 0)]
    now = live_progress(stored(phases), phases, [RunningTask(1, *one) for one in said])
    speaking = [one for one in said if one[1]]
    furthest = max((fraction for fraction, _ in speaking), default=None)
    if furthest is None:
        assert now.message == "stored"
    else:
        assert (furthest, now.message) in speaking
