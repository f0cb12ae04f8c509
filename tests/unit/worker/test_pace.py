"""How far ahead a worker claims."""

from hypothesis import given
from hypothesis import strategies as st

from shoal.worker.pace import AHEAD_S, MOST_AHEAD, MOST_IN_LINE, Pace, in_line, wanted

counts = st.integers(0, 5000)
paces = st.builds(Pace, st.floats(0, 1e6), st.floats(0, 1e6))


@given(pace=paces, concurrency=st.integers(1, 500), waiting=counts, running=counts)
def test_a_worker_never_holds_more_than_its_places_and_a_quarter_of_a_second(
    pace: Pace, concurrency: int, waiting: int, running: int
) -> None:
    asked = wanted(pace, concurrency=concurrency, waiting=waiting, running=running)
    most = concurrency + min(pace.per_s * AHEAD_S, MOST_AHEAD)
    assert asked >= 0
    assert asked == 0 or waiting + running + asked <= most


@given(pace=paces, concurrency=st.integers(1, 500), waiting=counts, running=counts)
def test_a_free_place_is_always_worth_a_claim(
    pace: Pace, concurrency: int, waiting: int, running: int
) -> None:
    asked = wanted(pace, concurrency=concurrency, waiting=waiting, running=running)
    if waiting + running < concurrency:
        assert asked >= concurrency - waiting - running


@given(concurrency=st.integers(1, 500))
def test_slow_tasks_are_claimed_one_for_each_place(concurrency: int) -> None:
    slow = Pace(per_s=1.0)
    assert wanted(slow, concurrency=concurrency, waiting=0, running=0) == concurrency
    assert wanted(slow, concurrency=concurrency, waiting=0, running=concurrency) == 0
    assert in_line(slow) == 0


@given(per_s=st.floats(1, 10_000))
def test_the_pace_becomes_that_of_the_work(per_s: float) -> None:
    pace = Pace()
    for tick in range(1, 200):
        pace = pace.after(round(per_s * 0.05), tick * 0.05)
    assert abs(pace.per_s - round(per_s * 0.05) / 0.05) < 1.0 + per_s * 0.01


@given(pace=paces, ended=counts, passed=st.floats(0, 100))
def test_a_pace_is_never_negative_and_never_above_what_was_seen(
    pace: Pace, ended: int, passed: float
) -> None:
    after = pace.after(ended, pace.at + passed)
    assert after.per_s >= 0
    if after.at > pace.at:
        assert after.per_s <= max(pace.per_s, ended / (after.at - pace.at)) * 1.000001
    else:
        assert after == pace


@given(pace=paces)
def test_the_line_before_the_threads_is_a_few_milliseconds_long(pace: Pace) -> None:
    assert 0 <= in_line(pace) <= min(MOST_IN_LINE, pace.per_s * 0.005)
