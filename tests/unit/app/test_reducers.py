"""What the result of a chunk may be. It comes from a machine nobody trusts."""

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.app.moments import chunk_moments, moments_of
from shoal.app.reducers import (
    MOST_RESULT_BYTES,
    Bounds,
    checked_result,
    collected_values,
    reduced_chunk,
)
from shoal.runtime.errors import Invalid, TooLarge
from shoal.wire.results import ChunkValues

GOOD = {"meanDps": 12500.5, "stdDps": 250.3, "minDps": 11800.0, "maxDps": 13200.0, "iterations": 1000}


def checked(result: object, **options: Any) -> object:
    return checked_result("moments", result, **{"iterations": 1000, **options})


def test_a_good_result_is_taken_as_it_is() -> None:
    assert msgspec.to_builtins(checked(GOOD)) == GOOD


@given(st.lists(st.floats(1e-3, 1e7), min_size=1, max_size=50))
def test_the_moments_of_real_numbers_are_always_taken(numbers: list[float]) -> None:
    result = msgspec.to_builtins(chunk_moments(moments_of(numbers)))
    assert msgspec.to_builtins(checked(result, iterations=len(numbers))) == result


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, None, "1", True, [], 1e300, -1.0])
@pytest.mark.parametrize("field", ["meanDps", "stdDps", "minDps", "maxDps"])
def test_what_is_no_number_in_its_bounds_is_refused(field: str, value: object) -> None:
    with pytest.raises(Invalid) as refused:
        checked({**GOOD, field: value})
    assert refused.value.code == "invalid_result"


@pytest.mark.parametrize(
    "wrong",
    [
        {"iterations": 999},
        {"iterations": 1001},
        {"iterations": 1000.5},
        {"iterations": True},
        {"minDps": 12600.0},
        {"maxDps": 12400.0},
        {"stdDps": 701.0},  # the numbers would have to lie further apart than from 11,800 to 13,200
        {"stdDps": 0.0, "meanDps": 0.0, "minDps": 0.0, "maxDps": 0.0},
        {"meanDps": 0.0, "minDps": 0.0},
        {"extra": 1},
    ],
)
def test_what_cannot_be_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(Invalid):
        checked({**GOOD, **wrong})


@pytest.mark.parametrize("result", [None, [], "x", 1, {}, {"values": [], "iterations": 0}])
def test_what_is_no_result_at_all_is_refused(result: object) -> None:
    with pytest.raises(Invalid):
        checked(result)


def test_bounds_are_the_engines() -> None:
    negative = {"meanDps": -3.0, "stdDps": 1.0, "minDps": -4.0, "maxDps": -2.0, "iterations": 1000}
    with pytest.raises(Invalid):
        checked(negative)
    assert checked(negative, bounds=Bounds(least=-10.0, most=0.0))
    with pytest.raises(Invalid):
        checked(GOOD, bounds=Bounds(most=13_000.0))


def test_collected_values_have_one_for_each_iteration() -> None:
    taken = checked_result("collect", {"values": [None, {"a": [1.5]}], "iterations": 2}, iterations=2)
    assert taken == ChunkValues([None, {"a": [1.5]}], 2)
    for wrong in ({"values": [1], "iterations": 2}, {"values": [1, {"a": [math.nan]}], "iterations": 2}):
        with pytest.raises(Invalid):
            checked_result("collect", wrong, iterations=2)


def test_a_result_that_no_message_can_carry_is_refused() -> None:
    value = "x" * MOST_RESULT_BYTES
    with pytest.raises(TooLarge) as refused:
        checked_result("collect", {"values": [value], "iterations": 1}, iterations=1)
    assert refused.value.code == "result_too_large"


def test_values_are_collected_in_the_order_of_the_iterations() -> None:
    chunks = {4: ChunkValues([4, 5], 2), 0: ChunkValues([0, 1, 2, 3], 4)}
    assert collected_values(chunks).values == [0, 1, 2, 3, 4, 5]
    assert reduced_chunk("collect", [[0, 1], [2]]) == ChunkValues([0, 1, 2], 3)
