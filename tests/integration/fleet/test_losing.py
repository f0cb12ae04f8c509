"""What a node loses is tried again in the same step; nobody holds what nobody works on."""

import asyncio

from shoal.fleet import rules
from shoal.fleet.model import Poisoned

from .world import World


async def test_what_a_dead_node_held_is_never_in_nobodys_list(world: World) -> None:
    await world.open("t", chunks=3)
    await world.admit("a")
    await world.give("a", 3)
    await world.lose("a")
    assert await world.client.zcard("{job}:t:retry") == 3
    await world.admit("b")
    assert sorted(await world.give("b", 9)) == ["t.0.2", "t.1.2", "t.2.2"]


async def test_a_plan_waits_for_nodes_as_long_as_it_takes(world: World) -> None:
    await world.open("t", chunks=2)
    assert await world.fleet.select_nodes("t") == []
    assert [await world.client.ttl(key) for key in await world.keys()] == [-1] * len(await world.keys())
    await world.admit("late")
    assert await world.give("late", 9) == ["t.0.1", "t.1.1"]


async def test_nothing_expires_while_work_goes_on(world: World) -> None:
    await world.open("t", chunks=4)
    await world.admit("a", "b")
    await world.give("a", 2)
    await world.complete("a", "t.0.1")
    await world.lose("a")
    await world.give("b", 9)
    await world.fleet.heartbeat("b", depth=5)
    assert {key: await world.client.ttl(key) for key in await world.keys()} == dict.fromkeys(
        await world.keys(), -1
    )


async def test_a_node_that_comes_back_is_a_new_one_and_told_to_drop_what_it_had(world: World) -> None:
    await world.open("t", chunks=2)
    first = await world.fleet.admit_node(world.rights("a"))
    assert not isinstance(first, str)
    held = await world.give("a", 2)
    assert (pulse := await world.fleet.heartbeat("a", depth=5))
    assert pulse.digest == rules.digest(held)
    await world.lose("a")
    assert await world.fleet.heartbeat("a", depth=5) is None
    second = await world.fleet.admit_node(world.rights("a"))
    assert not isinstance(second, str)
    assert second[0] > first[0]
    assert (pulse := await world.fleet.heartbeat("a", depth=5))
    assert (pulse.backlog, pulse.digest) == (0, rules.digest([]))


async def test_a_live_node_loses_a_chunk_that_does_not_move(world: World) -> None:
    await world.open("t", chunks=3)
    await world.admit("a")
    hung, moving, waiting = await world.give("a", 3)
    for one in (hung, moving, waiting):
        await world.client.hset("{node}:a:chunks", one, "1700000000000 1700000000000 0.25")
    pulse = await world.fleet.heartbeat("a", depth=5, progress={hung: 0.25, moving: 0.5}, longest_ms=10**15)
    assert pulse is not None
    assert pulse.lost == (hung,), "the one that waits behind one that moves is not lost"
    pulse = await world.fleet.heartbeat("a", depth=5, progress={moving: 0.75}, longest_ms=1000)
    assert pulse is not None
    assert set(pulse.lost) == {moving, waiting}, "progress does not buy time for ever"


async def test_a_lost_assignment_is_seen_in_the_digest(world: World) -> None:
    await world.open("t", chunks=1)
    await world.admit("a")
    await world.give("a")
    pulse = await world.fleet.heartbeat("a", depth=5)
    assert pulse is not None
    assert pulse.digest != rules.digest([])
    assert [one.id for one in await world.fleet.held_chunks("a")] == ["t.0.1"]


async def test_who_is_too_silent_for_work_has_not_lost_its_own_yet(world: World) -> None:
    assert rules.FRESH_MS < rules.SILENCE_MS
    await world.open("t", chunks=2)
    await world.admit("a")
    await world.give("a")
    await world.watch()
    await world.silence("a", (rules.FRESH_MS + rules.SILENCE_MS) // 2)
    assert await world.give("a") == []
    assert await world.fleet.reclaim_chunks() == {}
    assert await world.complete("a", "t.0.1", wanted=1) == ["OK"]


async def test_the_servers_clock_decides(world: World) -> None:
    before = await world.client.time()
    await world.admit("a")
    heard = int(await world.client.hget("{node}:a:state", "last_heartbeat"))
    after = await world.client.time()
    assert before[0] * 1000 + before[1] // 1000 <= heard <= after[0] * 1000 + after[1] // 1000


async def test_a_chunk_that_kills_every_node_poisons_its_plan(world: World) -> None:
    await world.open("t", chunks=1, most_failures=2)
    for attempt in (1, 2):
        await world.admit("a", "b")
        assert await world.give("a") == [f"t.0.{attempt}"]
        await world.lose("a")
    assert await world.give("b") == []
    assert await world.fleet.lock_plan("t", "me") == Poisoned(0, "")
    assert await world.fleet.settled() == ["t"]


async def test_many_that_reclaim_at_once_lose_nothing(world: World) -> None:
    await world.open("t", chunks=40)
    await world.admit("a", "b")
    await world.give("a", 40)
    await world.watch()
    await world.silence("a")
    reclaimed = await asyncio.gather(*(world.fleet.reclaim_chunks() for _ in range(5)))
    assert max(reclaimed, key=len) == {"a": 40}
    assert sum(map(len, reclaimed)) == 1
    assert len(await world.give("b", 100)) == 40


async def test_a_revoked_node_is_out_at_once_and_for_ever(world: World) -> None:
    await world.open("t", chunks=2)
    await world.admit("a", "b")
    (mine,) = await world.give("a")
    assert await world.fleet.revoke_node("a") == 1
    assert await world.complete("a", mine, wanted=1) == ["UNKNOWN_NODE"]
    assert await world.give("a") == []
    assert await world.fleet.heartbeat("a", depth=5) is None
    assert await world.fleet.admit_node(world.rights("a")) == "REVOKED"
    assert await world.give("b", 9) == ["t.0.2", "t.1.1"]
