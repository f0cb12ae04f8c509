"""The format of the random streams, against the generator written down in its paper."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.app.iterations import LARGEST, Iterations
from shoal.app.streams import Streams
from shoal.runtime.errors import Invalid

WORD = 2**64 - 1
FACTORS = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
STEPS = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)


def philox(counter: tuple[int, int, int, int], key: tuple[int, int]) -> list[int]:
    """Philox4x64-10, as in the paper."""
    c, k = list(counter), list(key)
    for _ in range(10):
        low, high = FACTORS[0] * c[0], FACTORS[1] * c[2]
        c = [(high >> 64) ^ c[1] ^ k[0], high & WORD, (low >> 64) ^ c[3] ^ k[1], low & WORD]
        k = [(k[0] + STEPS[0]) & WORD, (k[1] + STEPS[1]) & WORD]
    return c


def test_the_generator_is_the_published_one() -> None:
    """The first known answer its authors give."""
    assert philox((0, 0, 0, 0), (0, 0)) == [
        0x16554D9ECA36314C,
        0xDB20FE9D672D0FDC,
        0xD7E772CEE186176B,
        0x7E68B68AEC7BA23B,
    ]


RANGES = st.builds(Iterations, st.integers(0, LARGEST - 1), st.integers(0, LARGEST - 99), st.integers(0, 9))


@given(RANGES)
def test_every_word_is_the_one_the_format_says(iterations: Iterations) -> None:
    streams = Streams(iterations)
    drawn = [streams.words().tolist() for _ in range(9)]
    for place, number in enumerate(iterations):
        blocks = [philox((number + 1, block, 0, 0), (iterations.seed, 0)) for block in range(3)]
        assert [words[place] for words in drawn] == [word for block in blocks for word in block][:9]


@given(RANGES, st.integers(1, 9))
def test_the_cut_does_not_show(iterations: Iterations, size: int) -> None:
    whole = Streams(iterations)
    parts = [Streams(part) for part in iterations.cut(size)]
    for draw in ("uniform", "normal", "uniform"):
        cut = [number for part in parts for number in getattr(part, draw)().tolist()]
        assert cut == pytest.approx(getattr(whole, draw)().tolist(), rel=1e-15)


def test_numbers_are_spread_as_they_should_be() -> None:
    streams = Streams(Iterations(7, 0, 100_000))
    uniform, normal = streams.uniform(), streams.normal()
    assert 0.0 <= uniform.min() < uniform.max() < 1.0
    assert uniform.mean() == pytest.approx(0.5, abs=0.005)
    assert uniform.std() == pytest.approx(math.sqrt(1 / 12), abs=0.005)
    assert (normal.mean(), normal.std()) == pytest.approx((0.0, 1.0), abs=0.015)
    assert np.isfinite(normal).all()
    assert abs(np.corrcoef(uniform[:-1], uniform[1:])[0, 1]) < 0.015, "neighbours know nothing of each other"


@pytest.mark.parametrize(
    ("seed", "first", "count"), [(-1, 0, 1), (LARGEST, 0, 1), (0, -1, 1), (0, 1, LARGEST)]
)
def test_numbers_that_do_not_travel_are_refused(seed: int, first: int, count: int) -> None:
    with pytest.raises(Invalid) as refused:
        Iterations(seed, first, count)
    assert refused.value.code == "invalid_iterations"
