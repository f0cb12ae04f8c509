"""A result counts once, for who holds the attempt; whatever else is handed in leaves no trace."""

import math

import pytest
from redis.exceptions import ResponseError

from shoal.fleet.model import Completion, Full, Moments

from .world import RESULT, World, attempt_of


async def test_a_result_that_was_refused_counts_when_its_time_comes(world: World) -> None:
    await world.open("t", chunks=1)
    await world.admit("a")
    assert await world.give("a") == ["t.0.1"]
    await world.lose("a")
    await world.admit("a", "b")
    assert await world.give("b") == ["t.0.2"]
    assert await world.complete("a", "t.0.1") == ["WRONG_NODE"]
    await world.lose("b")
    assert await world.give("a") == ["t.0.3"]
    assert await world.complete("a", "t.0.3") == ["OK"]


async def test_a_result_that_comes_before_its_chunk_was_given_is_not_remembered(world: World) -> None:
    await world.open("t", chunks=1)
    await world.admit("a")
    before = await world.keys()
    assert await world.complete("a", "t.0.1", "u.0.1") == ["WRONG_NODE", "NOT_FOUND"]
    assert await world.keys() == before
    await world.give("a")
    assert await world.complete("a", "t.0.1") == ["OK"]


async def test_a_repeat_says_that_it_was_accepted_and_changes_nothing(world: World) -> None:
    await world.open("t", chunks=3)
    await world.admit("a")
    first, *_ = await world.give("a", 2)
    assert await world.complete("a", first, first) == ["OK", "ALREADY_COMPLETED"]
    answer = (await world.answers("a", first))[0]
    assert (answer.verdict, answer.completed, answer.total) == ("ALREADY_COMPLETED", 1, 3)


async def test_a_late_result_between_reclaim_and_the_next_attempt_counts_no_chunk_twice(world: World) -> None:
    await world.open("t", chunks=2)
    await world.admit("a")
    assert await world.give("a", 2) == ["t.0.1", "t.1.1"]
    await world.lose("a")
    await world.admit("a", "b")
    assert await world.complete("a", "t.0.1") == ["WRONG_NODE"]
    assert await world.give("b", 2) == ["t.0.2", "t.1.2"]
    assert [one.aggregate for one in await world.answers("b", "t.0.2", "t.0.2", "t.1.2")] == [
        False,
        False,
        True,
    ]
    full = await world.fleet.lock_plan("t", "me")
    assert isinstance(full, Full)
    assert full.moments.count == 20


async def test_an_old_attempt_of_the_same_node_is_not_the_new_one(world: World) -> None:
    await world.open("t", chunks=1)
    await world.admit("a")
    assert await world.give("a") == ["t.0.1"]
    await world.lose("a")
    await world.admit("a")
    assert await world.give("a") == ["t.0.2"]
    assert await world.complete("a", "t.0.1") == ["WRONG_NODE"]
    assert await world.complete("a", "t.0.2") == ["OK"]


async def test_a_forgotten_node_is_told_so_and_leaves_no_key(world: World) -> None:
    await world.open("t", chunks=2)
    await world.admit("a")
    await world.give("a")
    await world.lose("a")
    before = await world.keys()
    assert await world.complete("a", "t.0.1", wanted=1) == ["UNKNOWN_NODE"]
    assert await world.keys() == before


async def test_every_answer_has_all_its_words(world: World) -> None:
    """A decoder must never fail after the state has changed: no nil cuts an answer short."""
    await world.open("t", chunks=2)
    await world.admit("a")
    mine, other = await world.give("a", 2)
    sent = ["gone.0.1", mine, mine, "t.1.9", other]
    answers = await world.answers("a", *sent)
    assert [one.verdict for one in answers] == ["NOT_FOUND", "OK", "ALREADY_COMPLETED", "WRONG_NODE", "OK"]
    assert answers[-1].aggregate
    assert await world.answers("nobody", mine)


@pytest.mark.parametrize("word", ["nan", "inf", "-inf", "", "x", "0x", "-nan(0x8)"])
@pytest.mark.parametrize("place", range(5))
async def test_what_is_no_finite_number_is_invalid_and_counts_nothing(
    world: World, word: str, place: int
) -> None:
    await world.open("t", chunks=1)
    await world.admit("a")
    (mine,) = await world.give("a")
    before = await world.client.hgetall("{job}:t")
    moments = ["10", "5.0", "2.0", "1.0", "9.0"]
    moments[place] = word
    sent = Completion(node="a", attempt=attempt_of(mine), moments=Moments(*moments), wanted=0)  # type: ignore[arg-type] # the very point
    (answer,) = await world.fleet.complete_chunk([sent])
    assert answer.verdict == "INVALID"
    assert await world.client.hgetall("{job}:t") == before
    assert await world.complete("a", mine) == ["OK"]


async def test_a_chunk_is_not_done_when_its_result_could_not_be_kept(world: World) -> None:
    """What breaks in the middle of a call neither counts a chunk without its result nor takes back others."""
    await world.open("good", chunks=1)
    await world.open("bad", chunks=1, reducer="collect", order=1)
    await world.admit("a")
    assert await world.give("a", 2) == ["good.0.1", "bad.0.1"]
    both = [
        Completion(node="a", attempt=attempt_of("good.0.1"), moments=RESULT),
        Completion(node="a", attempt=attempt_of("bad.0.1"), where="vault/key"),
    ]
    await world.client.set("{job}:bad:results", "not a hash")
    with pytest.raises(ResponseError, match="WRONGTYPE"):
        await world.fleet.complete_chunk(both)
    assert await world.client.getbit("{job}:bad:done", 0) == 0
    assert await world.client.hget("{job}:bad", "completed") == b"0"
    await world.client.delete("{job}:bad:results")
    answers = await world.fleet.complete_chunk(both)
    assert [one.verdict for one in answers] == ["ALREADY_COMPLETED", "OK"]
    full = await world.fleet.lock_plan("good", "me")
    assert isinstance(full, Full)
    assert full.moments.count == 10
    assert await world.fleet.results("bad") == {0: "vault/key"}


async def test_a_result_of_another_reducer_is_invalid(world: World) -> None:
    await world.open("sums", chunks=1)
    await world.open("files", chunks=1, reducer="collect", order=1)
    await world.admit("a")
    await world.give("a", 2)
    assert await world.complete("a", "files.0.1") == ["INVALID"]
    (answer,) = await world.answers("a", "sums.0.1", result=None, where="vault/key")
    assert answer.verdict == "INVALID"
    (answer,) = await world.answers("a", "files.0.1", result=None)
    assert answer.verdict == "INVALID", "it lies nowhere"


async def test_numbers_keep_all_their_digits(world: World) -> None:
    await world.open("t", chunks=1, iterations=2**53 - 1, size=2**53 - 1)
    await world.admit("a")
    (mine,) = await world.give("a")
    exact = Moments(2**53 - 1, 1 / 3, math.pi * 1e-9, -1.7976931348623157e308, 3.3300000000000001)
    assert await world.complete("a", mine, result=exact) == ["OK"]
    full = await world.fleet.lock_plan("t", "me")
    assert isinstance(full, Full)
    assert full.moments == exact


async def test_completing_brings_the_next_chunk_in_the_same_call(world: World) -> None:
    await world.open("t", chunks=3)
    await world.admit("a", depth=1)
    (mine,) = await world.give("a", 9)
    (answer,) = await world.answers("a", mine, wanted=5)
    assert [one.id for one in answer.next] == ["t.1.1"], "never more than it may hold"
    assert answer.next[0].seed_offset == 10
    assert await world.held("a") == {"t.1.1"}


async def test_the_first_result_of_a_chunk_frees_who_else_holds_it(world: World) -> None:
    await world.open("t", chunks=1)
    await world.admit("a", "b")
    assert await world.give("a") == ["t.0.1"]
    assert await world.give("b") == []
    assert await world.fleet.spare_chunks("t", older_ms=-1) == 1
    assert await world.give("b") == ["t.0.2"]
    assert await world.give("b") == [], "not three times"
    (answer,) = await world.answers("b", "t.0.2")
    assert answer.freed == (("a", "t.0.1"),)
    assert await world.held("a") == set()
    assert await world.complete("a", "t.0.1") == ["ALREADY_COMPLETED"]
