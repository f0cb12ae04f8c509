"""How much a node holds, and how parts become a whole."""

import math

from hypothesis import given
from hypothesis import strategies as st

from shoal.fleet.model import Attempt, Moments
from shoal.fleet.rules import MOST_AHEAD, Fold, depth_of, digest, limit_of

numbers = st.floats(-1e6, 1e6)


def moments_of(values: list[float]) -> Moments:
    mean = math.fsum(values) / len(values)
    m2 = math.fsum((value - mean) ** 2 for value in values)
    return Moments(len(values), mean, m2, min(values), max(values))


@given(parts=st.lists(st.lists(numbers, min_size=1, max_size=5), min_size=1, max_size=20), data=st.data())
def test_the_whole_does_not_depend_on_the_cutting_nor_on_the_order(
    parts: list[list[float]], data: st.DataObject
) -> None:
    whole = moments_of([value for part in parts for value in part])
    fold = Fold()
    for part in data.draw(st.permutations(parts)):
        fold.add(moments_of(part))
    found = fold.moments
    assert (found.count, found.least, found.most) == (whole.count, whole.least, whole.most)
    assert math.isclose(found.mean, whole.mean, rel_tol=1e-12, abs_tol=1e-9)
    assert math.isclose(found.m2, whole.m2, rel_tol=1e-9, abs_tol=1e-3)


def test_a_hundred_thousand_parts_lose_no_more_digits_than_one() -> None:
    parts = [Moments(1, 12345.678 + number % 7 * 0.1, 0.0, 0.0, 1.0) for number in range(100_002)]
    fold = Fold()
    for part in parts:
        fold.add(part)
    exact = math.fsum(part.mean for part in parts) / len(parts)
    assert abs(fold.mean / exact - 1) < 1e-15


@given(parallel=st.integers(1, 512), chunk_s=st.one_of(st.none(), st.floats()))
def test_a_node_holds_what_it_runs_and_a_little_more(parallel: int, chunk_s: float | None) -> None:
    depth = depth_of(parallel, chunk_s)
    assert parallel < depth <= limit_of(parallel) == parallel * MOST_AHEAD


@given(parallel=st.integers(1, 64), one=st.floats(0, 1e4), other=st.floats(0, 1e4))
def test_a_faster_node_never_holds_less(parallel: int, one: float, other: float) -> None:
    assert depth_of(parallel, min(one, other)) >= depth_of(parallel, max(one, other))


def test_a_digest_tells_apart_what_looks_alike() -> None:
    assert digest(["a.1.1", "b.1.1"]) == digest(["b.1.1", "a.1.1"])
    assert len({digest(["ab", "c"]), digest(["a", "bc"]), digest([]), digest([""])}) == 4


@given(st.builds(Attempt, st.uuids().map(str), st.integers(0, 10**9), st.integers(1, 999)))
def test_an_attempt_is_read_back_from_its_wire_id(attempt: Attempt) -> None:
    assert Attempt.parse(str(attempt)) == attempt


def test_nothing_else_is_an_attempt() -> None:
    for wire in (
        "",
        "t",
        "t.1",
        "t.1.0",
        "t.01.1",
        "t.-1.1",
        "t.1.1.1",
        "t:x.1.1",
        "t.1.1\n",
        "t.\u0661.1",
        "{x}.1.1",
    ):
        assert Attempt.parse(wire) is None, wire
