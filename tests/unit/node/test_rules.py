"""Pauses grow, end somewhere, and differ from node to node."""

from hypothesis import given
from hypothesis import strategies as st

from shoal.node.rules import FIRST_PAUSE_S, LONGEST_PAUSE_S, pause_s


@given(st.integers(0, 10_000), st.floats(0, 1))
def test_a_pause_is_never_nothing_and_never_more_than_a_minute(failures: int, draw: float) -> None:
    assert FIRST_PAUSE_S / 2 <= pause_s(failures, draw) <= LONGEST_PAUSE_S


@given(st.integers(1, 100), st.floats(0, 1))
def test_a_further_failure_never_shortens_it(failures: int, draw: float) -> None:
    assert pause_s(failures, draw) <= pause_s(failures + 1, draw)


def test_it_doubles_from_half_a_second_and_chance_takes_up_to_half() -> None:
    assert [pause_s(failures, 1.0) for failures in (1, 2, 3, 8, 9)] == [0.5, 1.0, 2.0, 60.0, 60.0]
    assert pause_s(3, 0.0) == 1.0
