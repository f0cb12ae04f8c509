"""Chunks that need two owners' nodes to agree, and nodes that turn out to be wrong."""

import msgspec

from shoal.fleet.model import Full, Moments, Poisoned

from .world import RESULT, World

LIE = msgspec.structs.replace(RESULT, mean=RESULT.mean + 1)


async def test_a_chunk_is_done_when_nodes_of_two_owners_agree(world: World) -> None:
    await world.open("t", chunks=1, sample=1.0)
    await world.admit("a", "a-too", owner="ann")
    await world.admit("b", owner="bob")
    assert await world.give("a") == ["t.0.1"]
    (answer,) = await world.answers("a", "t.0.1")
    assert (answer.verdict, answer.completed, answer.aggregate) == ("OK", 0, False)
    assert await world.give("a-too") == [], "its owner has said what it has to say"
    assert await world.give("b") == ["t.0.2"]
    (answer,) = await world.answers("b", "t.0.2")
    assert (answer.verdict, answer.completed, answer.aggregate) == ("OK", 1, True)
    assert await moments_of(world) == RESULT


async def test_a_third_decides_between_two_and_the_wrong_one_loses_all_it_did(world: World) -> None:
    """Also what was not looked at: a node that lies once may have lied before."""
    await world.open("t", chunks=4, sample=0.000001)
    await world.admit("liar", owner="lee")
    assert await world.give("liar", 3) == ["t.0.1", "t.1.1", "t.2.1"]
    assert await world.complete("liar", "t.0.1", "t.1.1", result=LIE) == ["OK", "OK"]
    await world.look_at_all("t")
    await world.admit("a", owner="ann")
    await world.admit("b", owner="bob")
    assert await world.complete("liar", "t.2.1", result=LIE) == ["OK"]
    await world.give("liar")
    assert await world.give("a", 9) == ["t.2.2"]
    assert await world.complete("a", "t.2.2") == ["OK"]
    assert await world.give("b") == ["t.2.3"]
    (answer,) = await world.answers("b", "t.2.3")
    assert answer.freed == (("liar", "t.3.1"),)
    assert await world.give("liar", 9) == [], "never again for this plan"
    assert await world.fleet.drop_wrong_parts() == 1
    again = await world.give("a", 9)
    assert sorted(again) == ["t.0.501", "t.1.501", "t.3.2"]
    await world.complete("a", *again)
    rest = await world.give("b", 9)
    assert await world.complete("b", *rest) == ["OK"] * 3
    assert await moments_of(world) == Moments(40, 5.0, 8.0, 1.0, 9.0)


async def test_a_plan_is_not_full_while_the_work_of_a_wrong_node_stands_in_it(world: World) -> None:
    await world.open("t", chunks=2, sample=0.000001)
    await world.admit("liar", owner="lee")
    await world.give("liar", 2)
    await world.complete("liar", "t.0.1", result=LIE)
    await world.look_at_all("t")
    await world.complete("liar", "t.1.1", result=LIE)
    for number, node in enumerate(("a", "b"), start=2):
        await world.admit(node, owner=node)
        assert await world.give(node) == [f"t.1.{number}"]
        (answer,) = await world.answers(node, f"t.1.{number}")
    assert (answer.completed, answer.aggregate) == (2, False)
    assert await world.fleet.lock_plan("t", "me") == "NOT_FULL"
    await world.fleet.drop_wrong_parts()
    assert await world.fleet.lock_plan("t", "me") == "NOT_FULL"
    assert await world.give("a", 9) == ["t.0.501"]


async def test_what_lies_within_the_tolerance_agrees(world: World) -> None:
    await world.open("t", chunks=1, sample=1.0, tolerance=1e-9)
    await world.admit("a", owner="ann")
    await world.admit("b", owner="bob")
    await world.give("a")
    await world.complete("a", "t.0.1")
    await world.give("b")
    nearly = msgspec.structs.replace(RESULT, mean=RESULT.mean * (1 + 1e-12))
    (answer,) = await world.answers("b", "t.0.2", result=nearly)
    assert answer.aggregate


async def test_owners_who_never_agree_end_the_plan(world: World) -> None:
    await world.open("t", chunks=1, sample=1.0)
    for number in range(5):
        await world.admit(f"n{number}", owner=f"owner-{number}")
        (mine,) = await world.give(f"n{number}")
        different = msgspec.structs.replace(RESULT, mean=RESULT.mean + number)
        assert await world.complete(f"n{number}", mine, result=different) == ["OK"]
    poisoned = await world.fleet.lock_plan("t", "me")
    assert poisoned == Poisoned(0, "Nodes of different owners do not agree on its result.")


async def test_a_verified_plan_leaves_nothing_behind(world: World) -> None:
    nothing = await world.keys()
    await world.open("t", chunks=3, sample=1.0)
    await world.admit("a", owner="ann")
    await world.admit("b", owner="bob")
    for node in ("a", "b"):
        await world.complete(node, *await world.give(node, 9))
    await world.fleet.drop_plan("t", "token")
    await world.fleet.revoke_node("a")
    await world.fleet.revoke_node("b")
    assert await world.keys() - nothing == {"{node}:revoked"}


async def moments_of(world: World) -> Moments:
    full = await world.fleet.lock_plan("t", "me")
    assert isinstance(full, Full), full
    return full.moments
