"""How many workers there shall be, for any queue."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.roles.worker_processes import FIRST_PAUSE_S, LONGEST_PAUSE_S, next_pause_s
from shoal.roles.worker_scaling import Bounds, Needs
from shoal.runtime.errors import Invalid
from shoal.worker.settings import ScaleSettings

COOL_DOWN_S = 60.0

depths = st.integers(0, 10_000)
bounds = st.tuples(st.integers(0, 50), st.integers(0, 50), st.integers(1, 100)).map(
    lambda drawn: Bounds(
        least=drawn[0],
        most=max(1, drawn[0] + drawn[1]),
        tasks_per_worker=drawn[2],
        cool_down_s=COOL_DOWN_S,
    )
)
needed = st.integers(0, 20)
pauses = st.floats(0.1, 100)
looks = st.lists(st.tuples(pauses, needed), min_size=1, max_size=60)


def history(start: int, seen: list[tuple[float, int]]) -> list[tuple[float, int, Needs]]:
    """When, what was needed, and what was known then."""
    now, needs = 0.0, Needs(((0.0, start),))
    told = []
    for pause, workers in seen:
        now += pause
        needs = needs.after(workers, now=now, cool_down_s=COOL_DOWN_S)
        told.append((now, workers, needs))
    return told


@given(bounds, depths)
def test_the_bounds_hold_for_any_depth(bounds: Bounds, depth: int) -> None:
    assert bounds.least <= bounds.workers_for(depth) <= bounds.most


@given(bounds, depths)
def test_within_the_bounds_every_task_has_its_place_and_no_worker_is_spare(
    bounds: Bounds, depth: int
) -> None:
    workers = bounds.workers_for(depth)

    assert workers * bounds.tasks_per_worker >= depth or workers == bounds.most
    assert (workers - 1) * bounds.tasks_per_worker < depth or workers == bounds.least


@given(bounds, depths, depths)
def test_more_tasks_never_need_fewer_workers(bounds: Bounds, one: int, other: int) -> None:
    assert bounds.workers_for(min(one, other)) <= bounds.workers_for(max(one, other))


@given(needed, looks)
def test_what_is_needed_now_is_there_at_once(start: int, seen: list[tuple[float, int]]) -> None:
    for _, workers, needs in history(start, seen):
        assert needs.size >= workers


@given(needed, looks)
def test_the_size_is_the_largest_need_of_the_cool_down(start: int, seen: list[tuple[float, int]]) -> None:
    told = [(0.0, start), *((at, workers) for at, workers, _ in history(start, seen))]
    for now, _, needs in history(start, seen):
        assert needs.size == max(workers for at, workers in told if now - COOL_DOWN_S < at <= now)


@given(needed, looks)
def test_what_is_remembered_only_falls(start: int, seen: list[tuple[float, int]]) -> None:
    """So it cannot grow beyond the number of sizes there are."""
    for _, _, needs in history(start, seen):
        sizes = [workers for _, workers in needs.seen]
        assert sizes == sorted(set(sizes), reverse=True)


@pytest.mark.parametrize(("given_per_worker", "used"), [(0, 8), (3, 3)])
def test_a_worker_is_worth_its_concurrency_unless_it_is_said(given_per_worker: int, used: int) -> None:
    settings = ScaleSettings(scale_tasks_per_worker=given_per_worker)

    assert Bounds.of(settings, concurrency=8).tasks_per_worker == used


def test_bounds_that_cross_are_refused() -> None:
    with pytest.raises(Invalid) as refused:
        Bounds.of(ScaleSettings(scale_min=3, scale_max=2), concurrency=1)

    assert refused.value.code == "scale_bounds_crossed"


def test_pauses_grow_to_their_limit_and_begin_anew_after_a_good_life() -> None:
    pause, pauses = FIRST_PAUSE_S, []
    for _ in range(8):
        pause = next_pause_s(pause, lived_s=1)
        pauses.append(pause)

    assert pauses == [1, 2, 4, 8, 16, 30, 30, 30]
    assert next_pause_s(pause, lived_s=LONGEST_PAUSE_S + 1) == FIRST_PAUSE_S
