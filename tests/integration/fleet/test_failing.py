"""A chunk that cannot be computed, a node that cannot compute, and a brain that was away."""

from shoal.fleet import rules
from shoal.fleet.model import Poisoned

from .world import World, attempt_of


async def test_a_chunk_that_fails_everywhere_ends_its_plan_with_the_reason(world: World) -> None:
    await world.open("t", chunks=2, owner="ann", most_failures=3)
    await world.admit("mine", accepts=["owner:ann"], owner="ann", depth=1)
    given = await world.give("mine")
    for _ in range(2):
        verdict, further = await world.fleet.fail_chunk("mine", attempt_of(given[0]), reason="no such spell")
        assert verdict == "OK"
        given = [one.id for one in further]
    assert given == ["t.0.3"], "the owner's own node tries again at once"
    assert await world.fleet.fail_chunk("mine", attempt_of("t.0.3"), reason="no such rune") == ("OK", [])
    assert await world.fleet.lock_plan("t", "me") == Poisoned(0, "no such rune")
    assert await world.fleet.settled() == ["t"]


async def test_a_stranger_that_fails_chunks_rests_longer_each_time(world: World) -> None:
    """Alone it would end any plan in a moment."""
    await world.open("t", chunks=2, owner="ann", most_failures=2)
    await world.admit("stranger", "other", depth=1)
    (mine,) = await world.give("stranger")
    assert await world.fleet.fail_chunk("stranger", attempt_of(mine), reason="", wanted=1) == ("OK", [])
    assert await world.give("stranger") == []
    await world.fleet.heartbeat("stranger", depth=1)
    assert await world.give("stranger") == []
    failed, first = await rest_of(world, "stranger")
    assert (failed, 0 < first <= 1000) == (1, True)

    await wake(world, "stranger", failed=1)
    (mine,) = await world.give("stranger")
    assert mine == "t.0.2"
    await world.fleet.fail_chunk("stranger", attempt_of(mine), reason="")
    failed, second = await rest_of(world, "stranger")
    assert (failed, 1000 < second <= 2000) == (2, True)


async def test_a_result_ends_the_series_of_failures(world: World) -> None:
    await world.open("t", chunks=3)
    await world.admit("a")
    failed, good, _ = await world.give("a", 3)
    await world.fleet.fail_chunk("a", attempt_of(failed), reason="")
    assert await world.complete("a", good) == ["OK"]
    assert await world.client.hget("{node}:a:state", "rests") is None
    assert await world.give("a", 9) == ["t.0.2"]


async def test_only_who_holds_a_chunk_can_fail_it(world: World) -> None:
    await world.open("t", chunks=1, most_failures=1)
    await world.admit("a", "b")
    (mine,) = await world.give("a")
    before = await world.keys()
    for node, wire in (("b", mine), ("a", "t.0.2"), ("a", "t.7.1")):
        assert await world.fleet.fail_chunk(node, attempt_of(wire), reason="") == ("WRONG_NODE", [])
    assert (await world.fleet.fail_chunk("a", attempt_of("gone.0.1"), reason=""))[0] == "NOT_FOUND"
    assert (await world.fleet.fail_chunk("nobody", attempt_of(mine), reason=""))[0] == "UNKNOWN_NODE"
    assert await world.keys() == before
    assert await world.complete("a", mine) == ["OK"]


async def test_what_is_handed_back_is_nobodys_failure(world: World) -> None:
    await world.open("t", chunks=2, most_failures=1)
    await world.admit("a", "b")
    for attempt in range(1, 6):
        assert sorted(await world.give("a", 2)) == [f"t.0.{attempt}", f"t.1.{attempt}"]
        ids = [f"t.0.{attempt}", f"t.1.{attempt}"]
        assert sorted(await world.fleet.hand_back_chunks("a", [*ids, "t.0.99", "gone.0.1"])) == ids
    assert await world.complete("a", "t.0.5") == ["WRONG_NODE"]
    assert sorted(await world.give("b", 2)) == ["t.0.6", "t.1.6"]
    assert await world.complete("b", "t.0.6", "t.1.6") == ["OK", "OK"]


async def test_a_node_that_leaves_is_forgotten_at_once(world: World) -> None:
    await world.open("t", chunks=3)
    nothing = {key for key in await world.keys() if not key.startswith("{job}")}
    await world.admit("a")
    held = await world.give("a", 3)
    assert sorted(await world.fleet.hand_back_chunks("a", leaving=True)) == held
    assert {key for key in await world.keys() if key.startswith("{node}")} == nothing
    assert await world.client.zcard("{job}:t:retry") == 3


async def test_nobody_is_forgotten_because_nobody_listened(world: World) -> None:
    """The brain was away, or every sentinel: no heartbeat could arrive."""
    await world.open("t", chunks=1)
    await world.admit("a")
    (mine,) = await world.give("a")
    await world.silence("a", 10 * rules.SILENCE_MS)
    assert await world.fleet.reclaim_chunks() == {}
    assert await world.complete("a", mine) == ["OK"]
    await world.watch()
    assert await world.fleet.reclaim_chunks() == {"a": 0}


async def test_a_plan_half_dropped_is_dropped_and_opened_again(world: World) -> None:
    plan = await world.open("t", chunks=3)
    await world.admit("a")
    await world.give("a", 3)
    await world.drop_one_chunk_and_die("t")
    assert await world.fleet.lock_plan("t", "me") == "NOT_FOUND"
    assert await world.complete("a", *await world.held("a")) == ["NOT_FOUND", "NOT_FOUND"]
    assert await world.fleet.open_plan(plan) == "OK"
    assert await world.held("a") == set()
    assert len(await world.give("a", 9)) == 3


async def test_a_result_of_another_size_is_invalid(world: World) -> None:
    await world.open("t", chunks=2, iterations=15)
    await world.admit("a")
    full, rest = await world.give("a", 2)
    assert await world.complete("a", rest) == ["INVALID"], "the last chunk has five iterations"
    assert await world.complete("a", full) == ["OK"]


async def rest_of(world: World, node: str) -> tuple[int, int]:
    failed, until = (await world.client.hget(f"{{node}}:{node}:state", "rests")).split()
    seconds, microseconds = await world.client.time()
    return int(failed), int(until) - seconds * 1000 - microseconds // 1000


async def wake(world: World, node: str, *, failed: int) -> None:
    await world.client.hset(f"{{node}}:{node}:state", "rests", f"{failed} 0")
