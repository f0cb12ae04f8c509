import numpy as np
from hypothesis import given, settings

from shoal.mesh.planner import plan
from shoal.mesh.swarm import ORIGIN, Bits, Limits, Numbers, Swarm, Transfers

from .worlds import Scene, could_start, has, knows, scenes


def a_swarm(rows: list[str], *, limits: Limits | None = None) -> Swarm:
    """A row is a server: ``x`` for a shard it has."""
    swarm = Swarm(len(rows[0]), limits=limits or Limits())
    for row in rows:
        swarm.know(swarm.join(), np.array([letter == "x" for letter in row]))
    return swarm


def planned(
    swarm: Swarm, *waiting: int, barred: set[tuple[int, int]] | None = None
) -> set[tuple[int, int, int]]:
    found = plan(swarm, np.array(waiting), dice=np.random.default_rng(0), barred=barred or set())
    return set(zip(found.servers.tolist(), found.shards.tolist(), found.sources.tolist(), strict=True))


@given(scenes())
@settings(max_examples=300, deadline=None)
def test_no_plan_goes_over_a_limit(scene: Scene) -> None:
    swarm = scene.swarm
    begun = plan(swarm, scene.waiting, dice=scene.dice(), barred=scene.barred)
    swarm.begin(begun)
    assert swarm.downloads.min() >= 0
    assert swarm.uploads.min() >= 0
    assert swarm.origin_slots >= 0
    assert set(begun.servers.tolist()) <= set(scene.waiting.tolist())


@given(scenes())
@settings(max_examples=300, deadline=None)
def test_a_shard_goes_from_one_who_has_it_to_one_who_needs_it(scene: Scene) -> None:
    swarm = scene.swarm
    begun = plan(swarm, scene.waiting, dice=scene.dice(), barred=scene.barred)
    rows = list(zip(begun.servers.tolist(), begun.shards.tolist(), begun.sources.tolist(), strict=True))
    for server, shard, source in rows:
        assert not knows(swarm, server, shard)
        assert (server, source) not in scene.barred
        if source == ORIGIN:
            assert swarm.copies[shard] == 0
            assert not swarm.from_origin[shard]
        else:
            assert has(swarm, source, shard)
    assert len({(server, shard) for server, shard, _ in rows}) == len(rows)
    first = [shard for _, shard, source in rows if source == ORIGIN]
    assert len(set(first)) == len(first)


@given(scenes())
@settings(max_examples=300, deadline=None)
def test_nothing_is_left_that_could_start(scene: Scene) -> None:
    """Trap 6.2: a shard whose holders are all busy is no reason to wait while another could move."""
    scene.swarm.begin(plan(scene.swarm, scene.waiting, dice=scene.dice(), barred=scene.barred))
    assert could_start(scene) == []


@given(scenes())
@settings(max_examples=100, deadline=None)
def test_planning_changes_nothing_and_is_repeatable(scene: Scene) -> None:
    swarm = scene.swarm
    before: list[Numbers | Bits] = [
        part.copy() for part in (swarm.has, swarm.knows, swarm.copies, swarm.downloads, swarm.uploads)
    ]
    first = plan(swarm, scene.waiting, dice=scene.dice(), barred=scene.barred)
    again = plan(swarm, scene.waiting, dice=scene.dice(), barred=scene.barred)
    after: list[Numbers | Bits] = [swarm.has, swarm.knows, swarm.copies, swarm.downloads, swarm.uploads]
    assert all(np.array_equal(one, other) for one, other in zip(before, after, strict=True))
    assert np.array_equal(first.servers, again.servers)
    assert np.array_equal(first.shards, again.shards)
    assert np.array_equal(first.sources, again.sources)


@given(scenes())
@settings(max_examples=100, deadline=None)
def test_what_is_begun_and_ends_leaves_every_slot_free(scene: Scene) -> None:
    """Trap 6.3: the origin is not busy for ever because somebody who fetched from it is gone."""
    swarm = scene.swarm
    slots = swarm.downloads.copy(), swarm.uploads.copy(), swarm.origin_slots
    known, had, coming = swarm.knows.copy(), swarm.has.copy(), swarm.from_origin.copy()
    begun = plan(swarm, scene.waiting, dice=scene.dice(), barred=scene.barred)
    swarm.begin(begun)
    swarm.give_up(begun)
    assert np.array_equal(swarm.knows, known)
    assert np.array_equal(swarm.has, had)
    assert np.array_equal(swarm.from_origin, coming)
    swarm.begin(begun)
    swarm.finish(begun)
    assert np.array_equal(swarm.downloads, slots[0])
    assert np.array_equal(swarm.uploads, slots[1])
    assert swarm.origin_slots == slots[2]
    assert np.array_equal(swarm.copies, np.unpackbits(swarm.has, axis=1).sum(axis=1))


def test_the_rarest_shard_that_can_start_goes_first() -> None:
    swarm = a_swarm(["xx.", "x..", "...", "..."])
    assert planned(swarm, 2) == {(2, 2, ORIGIN)}
    swarm.begin(Transfers.of([(3, 2, ORIGIN)]))
    assert planned(swarm, 2) == {(2, 1, 0)}


def test_a_busy_holder_of_the_rarest_shard_blocks_nobody() -> None:
    """Trap 6.1: nobody waits for the origin or a busy peer while another peer has something to give."""
    swarm = a_swarm(["xx", "x.", "..", ".."])
    swarm.begin(Transfers.of([(2, 1, 0)]))
    assert planned(swarm, 3) == {(3, 0, 1)}


def test_whoever_waits_longest_comes_first() -> None:
    swarm = a_swarm(["x", ".", ".", "."])
    assert planned(swarm, 3, 1, 2) == {(3, 0, 0)}


def test_a_pair_that_failed_is_not_put_together() -> None:
    swarm = a_swarm(["x", ".", "."])
    assert planned(swarm, 1, 2, barred={(1, 0)}) == {(2, 0, 0)}
    assert planned(swarm, 1, barred={(1, 0)}) == set()


def test_the_origin_gives_as_many_different_shards_as_it_has_slots() -> None:
    swarm = a_swarm(["....", "....", "...."], limits=Limits(origin=2))
    found = planned(swarm, 0, 1, 2)
    assert len(found) == 2
    assert len({shard for _, shard, _ in found}) == 2


def test_what_was_lost_with_its_only_holder_comes_from_the_origin_again() -> None:
    swarm = a_swarm(["x", "."])
    assert planned(swarm, 1) == {(1, 0, 0)}
    swarm.leave(0)
    assert planned(swarm, 1) == {(1, 0, ORIGIN)}


def test_one_who_does_not_give_is_not_asked_and_its_copy_does_not_count() -> None:
    swarm = a_swarm(["x", "."])
    swarm.know(0, np.array([True]), gives=False)
    assert planned(swarm, 1) == {(1, 0, ORIGIN)}


def test_a_server_that_says_anew_what_it_has_is_counted_once() -> None:
    """Trap 6.9: copies are counted from what servers have, so that reports and deaths cannot drift."""
    swarm = a_swarm(["xx", "x."])
    for _ in range(3):
        swarm.know(0, np.array([True, True]))
    assert swarm.copies.tolist() == [2, 1]
    swarm.leave(0)
    assert swarm.copies.tolist() == [1, 0]


def test_what_a_server_is_getting_is_not_assigned_to_it_again_when_it_reports() -> None:
    swarm = a_swarm(["x.", ".."], limits=Limits(downloads=2))
    swarm.begin(Transfers.of([(1, 0, 0)]))
    swarm.know(1, np.array([False, False]), coming=[0])
    assert planned(swarm, 1) == {(1, 1, ORIGIN)}


def test_the_number_of_a_server_that_left_is_used_again() -> None:
    swarm = a_swarm(["x"] * 9)
    swarm.leave(4)
    assert swarm.join() == 4
    assert planned(swarm, 4) == {(4, 0, source) for _, _, source in planned(swarm, 4)}
    assert swarm.owned[4] == 0
