"""A client that comes back is told all it missed, or that it missed something; never less."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.beacon.hub.commands import Position
from shoal.beacon.hub.replies import encode
from shoal.beacon.hub.stream import Stream
from shoal.beacon.model import Refused


def test_what_was_kept_goes_a_while_after_the_newest() -> None:
    stream = Stream(epoch="e", size=10, ttl_s=60)
    stream.add(encode("a"), 0)
    stream.add(encode("b"), 50)

    assert stream.missed(Position(0, "e"), 109) is not None
    assert stream.missed(Position(0, "e"), 110) is None
    assert stream.missed(Position(2, "e"), 110) == []


def test_another_epoch_is_another_stream() -> None:
    stream = Stream(epoch="e", size=10, ttl_s=60)
    stream.add(encode("a"), 0)

    assert stream.missed(Position(1, "other"), 1) is None
    with pytest.raises(Refused, match="unrecoverable position"):
        stream.page(-1, Position(1, "other"), reverse=False, now=1)


def test_pages_begin_behind_a_position_in_either_direction() -> None:
    stream = Stream(epoch="e", size=10, ttl_s=60)
    for number in range(1, 6):
        stream.add(encode(number), 0)

    def page(limit: int, since: int | None = None, *, reverse: bool = False) -> list[int]:
        position = None if since is None else Position(since, "e")
        bodies = stream.page(limit, position, reverse=reverse, now=1)
        return [msgspec.json.decode(body)["data"] for body in bodies]

    assert page(0) == []
    assert page(-1) == [1, 2, 3, 4, 5]
    assert page(2, 3) == [4, 5]
    assert page(2, 4, reverse=True) == [3, 2]
    with pytest.raises(Refused, match="bad request"):
        page(2, 0, reverse=True)


@given(
    size=st.integers(1, 20),
    steps=st.lists(st.tuples(st.integers(0, 8), st.integers(0, 40)), max_size=20),
    absent_since=st.integers(0, 100),
)
def test_recovery_tells_everything_in_order_or_nothing(
    size: int, steps: list[tuple[int, int]], absent_since: int
) -> None:
    """Against a stream that forgets nothing."""
    stream = Stream(epoch="e", size=size, ttl_s=60)
    published: list[int] = []
    now = 0.0
    for count, seconds in steps:
        for _ in range(count):
            published.append(len(published) + 1)
            stream.add(encode(published[-1]), now)
        now += seconds

    missed = stream.missed(Position(absent_since, "e"), now)

    if missed is not None:
        assert [msgspec.json.decode(body)["data"] for body in missed] == published[absent_since:]
        assert absent_since <= len(published)
    if absent_since == len(published):
        assert missed == []
