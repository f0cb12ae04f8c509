"""Moments do not depend on how numbers were divided, nor on the order in which the parts came."""

import math
import statistics
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.app.moments import NOTHING, Fold, Moments, chunk_moments, moments_in, moments_of
from shoal.app.reducers import merged_moments

NUMBERS = st.lists(st.floats(1.0, 1e7), min_size=1, max_size=300)


def approx(value: float, *, beside: float) -> object:
    """To 1e-12; a spread that the digits of the numbers cannot show need not be found."""
    return pytest.approx(value, rel=1e-12, abs=1e-14 * beside)


def parts_of(numbers: list[float], random: Random) -> list[list[float]]:
    """The numbers in any order, cut anywhere."""
    mixed = random.sample(numbers, len(numbers))
    cuts = sorted(random.choices(range(len(mixed) + 1), k=random.randint(0, 12)))
    return [mixed[first:end] for first, end in zip([0, *cuts], [*cuts, len(mixed)], strict=True)]


@given(NUMBERS, st.randoms(use_true_random=False))
def test_any_partition_in_any_order_gives_the_same_moments(numbers: list[float], random: Random) -> None:
    fold = Fold()
    for part in parts_of(numbers, random):
        fold.add(moments_of(part))
    total = fold.total()
    greatest = max(numbers)
    assert (total.count, total.least, total.greatest) == (len(numbers), min(numbers), greatest)
    assert total.mean == approx(statistics.fmean(numbers), beside=greatest)
    spread = math.sqrt(
        math.fsum((number - statistics.fmean(numbers)) ** 2 for number in numbers) / len(numbers)
    )
    assert total.deviation == approx(spread, beside=greatest)


@given(NUMBERS, st.randoms(use_true_random=False))
def test_nothing_is_lost_on_the_way_through_the_results_of_chunks(
    numbers: list[float], random: Random
) -> None:
    whole = moments_of(numbers)
    reported = [chunk_moments(moments_of(part)) for part in parts_of(numbers, random) if part]
    job = merged_moments(reported)
    assert (job.total_iterations, job.min_dps, job.max_dps) == (whole.count, whole.least, whole.greatest)
    assert job.mean_dps == approx(whole.mean, beside=whole.greatest)
    assert job.std_dps == approx(whole.deviation, beside=whole.greatest)


def test_a_million_parts_round_no_worse_than_a_few() -> None:
    random = Random(1)  # noqa: S311 - nothing secret
    fold, few = Fold(), []
    for _ in range(1000):
        numbers = [random.gauss(10_000, 300) for _ in range(1000)]
        few.append(moments_of(numbers))
        for number in numbers:
            fold.add(Moments(1, number, 0.0, number, number))
    total = fold.total()
    other = merged_moments(chunk_moments(part) for part in few)
    assert total.mean == pytest.approx(other.mean_dps, rel=1e-14)
    assert total.deviation == pytest.approx(other.std_dps, rel=1e-13)
    assert len(vars(fold)["_parts"]) <= 20, "it keeps a few parts, however many there were"


def test_a_mean_never_leaves_the_numbers_it_is_the_mean_of() -> None:
    same = moments_of([0.1] * 3)
    assert (same.least, same.mean, same.greatest) == (0.1, 0.1, 0.1)
    merged = same.merged(moments_of([0.1] * 7)).merged(moments_of([0.1]))
    assert (merged.mean, merged.m2) == (0.1, 0.0)


def test_nothing_adds_nothing() -> None:
    some = moments_of([1.0, 2.0])
    assert NOTHING.merged(some) == some.merged(NOTHING) == some
    assert moments_of([]) == Fold().total() == NOTHING


def test_the_deviation_is_that_of_all_numbers() -> None:
    assert moments_of([1.0, 3.0]).deviation == 1.0
    assert moments_of([5.0]).deviation == 0.0
    assert moments_in(chunk_moments(moments_of([1.0, 3.0]))).m2 == 2.0
