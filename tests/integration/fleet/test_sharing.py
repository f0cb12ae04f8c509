"""Who gets what: only what a node may run, fairly between owners, and never what nobody else could take."""

import asyncio

from shoal.fleet import rules
from shoal.fleet.model import Assignment

from .world import World


async def test_what_nobody_can_run_holds_up_nobody(world: World) -> None:
    """A hundred old plans that no node accepts, and a young one that a node does."""
    for number in range(100):
        await world.open(f"stuck-{number}", chunks=1, owner=f"lonely-{number}", audience="own", order=number)
    await world.open("young", chunks=2, order=1000)
    await world.admit("a")
    assert await world.give("a", 9) == ["young.0.1", "young.1.1"]


async def test_a_chunk_is_given_once_however_many_ask_at_once(world: World) -> None:
    await world.open("t", chunks=40)
    nodes = [f"n{number}" for number in range(8)]
    await world.admit(*nodes)
    rounds = await asyncio.gather(*(world.fleet.assign_chunk(nodes, most=10) for _ in range(8)))
    given = [one.id for answer in rounds for one in answer]
    assert len(given) == len(set(given)) == 40
    assert sum([len(await world.held(node)) for node in nodes]) == 40


async def test_several_who_look_for_nodes_at_once_do_not_all_choose_the_same(world: World) -> None:
    await world.open("t", chunks=100)
    await world.admit(*(f"n{number}" for number in range(10)), depth=10)
    rounds: list[list[Assignment]] = await asyncio.gather(
        *(world.fleet.select_nodes("t", most=10) for _ in range(10))
    )
    assert sum(map(len, rounds)) == 100
    assert {len(await world.held(f"n{number}")) for number in range(10)} == {10}


async def test_dead_nodes_with_nothing_to_do_hide_no_live_one(world: World) -> None:
    dead = [f"dead-{number}" for number in range(300)]
    await world.admit(*dead, "live", depth=200)
    for node in dead:
        await world.silence(node, rules.FRESH_MS + 1000)
    await world.open("t", chunks=5)
    assert {one.node for one in await world.fleet.select_nodes("t", most=5)} == {"live"}


async def test_the_owner_with_the_least_in_hand_is_next(world: World) -> None:
    """However many plans or chunks an owner has, and however long another one waited."""
    for number in range(10):
        await world.open(f"many-{number}", chunks=50, owner="greedy", order=number)
    await world.open("one", chunks=50, owner="modest", order=99)
    await world.admit("a", depth=40, limit=40)
    given = await world.give("a", 40)
    assert sum(one.startswith("one.") for one in given) == 20


async def test_a_node_gets_only_what_its_grants_allow(world: World) -> None:
    await world.open("private", chunks=1, owner="ann", audience="own", guilds=["g1"], order=1)
    await world.open("shared", chunks=1, owner="ann", audience="shared", order=2)
    await world.open("open", chunks=1, owner="ann", audience="public", order=3)
    await world.open("other-engine", chunks=1, owner="ann", audience="public", order=4, engine="dps@2")
    expected = {
        ("public",): ["open.0.1"],
        ("owner:host", "public"): [],
        ("discord:g1",): ["shared.0.1"],
        ("discord:g2",): [],
        ("user:bob",): [],
        ("owner:ann",): ["private.0.1"],
    }
    for number, (accepts, given) in enumerate(expected.items()):
        await world.admit(f"n{number}", accepts=accepts)
        assert await world.give(f"n{number}", 9) == given, accepts


async def test_a_permission_that_ended_takes_back_what_is_held(world: World) -> None:
    await world.open("t", chunks=2, owner="ann", audience="shared", guilds=["g1"])
    await world.admit("a", accepts=["discord:g1"])
    (mine,) = await world.give("a")
    assert await world.fleet.change_grants("ann", ["g2"]) == [("a", mine)]
    assert await world.complete("a", mine) == ["WRONG_NODE"]
    assert await world.give("a", 9) == []
    await world.admit("b", accepts=["discord:g2"])
    assert await world.give("b", 9) == ["t.0.2", "t.1.1"]
    answer = await world.fleet.admit_node(world.rights("b", accepts=["public"]), present=False)
    assert set(answer[1]) == {"t.0.2", "t.1.1"}


async def test_what_one_who_died_did_not_take_back_is_found(world: World) -> None:
    await world.open("t", chunks=1, owner="ann", audience="shared", guilds=["g1"])
    await world.admit("a", accepts=["discord:g1"])
    (mine,) = await world.give("a")
    await world.change_grants_and_die("ann", [])
    assert await world.held("a") == {mine}
    assert await world.fleet.rechecks() == ["t"]
    assert await world.fleet.recheck_plan("t") == [("a", mine)]
    assert await world.fleet.rechecks() == []


async def test_a_paused_node_gets_nothing_and_may_finish_what_it_has(world: World) -> None:
    await world.open("t", chunks=3)
    await world.admit("a")
    (mine,) = await world.give("a")
    await world.fleet.admit_node(world.rights("a", paused=True), present=False)
    (answer,) = await world.answers("a", mine, wanted=5)
    assert (answer.verdict, answer.next) == ("OK", ())
    assert await world.fleet.select_nodes("t") == []


async def test_a_node_never_holds_more_than_it_should(world: World) -> None:
    await world.open("t", chunks=100)
    await world.admit("slow", depth=2, limit=16)
    await world.admit("fast", depth=50, limit=16)
    for _ in range(3):
        await world.fleet.assign_chunk(["slow", "fast"])
        await world.fleet.select_nodes("t")
    assert len(await world.held("slow")) == 2
    assert len(await world.held("fast")) == 16
