import math
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest

from shoal.mesh.bounds import slow_origin_bound, spread, unit_bound
from shoal.mesh.picture import draw
from shoal.mesh.simulator import World, simulate


@pytest.mark.parametrize(("servers", "shards"), [(16, 64), (64, 64), (256, 64), (16, 256), (300, 100)])
@pytest.mark.parametrize("seed", [1, 2])
def test_a_swarm_with_equal_links_is_near_the_best_there_is(servers: int, shards: int, seed: int) -> None:
    outcome = simulate(World(servers=servers, shards=shards, seed=seed))
    assert 1 <= outcome.over_bound <= 1.06
    assert outcome.from_origin == shards
    assert outcome.from_peers == (servers - 1) * shards


@pytest.mark.parametrize(("rate", "slots"), [(0.25, 1), (0.25, 4), (0.5, 2), (0.1, 3)])
def test_a_slow_origin_gives_each_shard_once_and_its_bound_holds(rate: float, slots: int) -> None:
    outcome = simulate(World(servers=48, shards=48, origin_rate=rate, origin_slots=slots))
    assert 1 <= outcome.over_bound <= 1.25
    assert outcome.from_origin == 48


def test_more_slots_make_up_for_a_slow_origin() -> None:
    one, four = (
        simulate(World(servers=32, shards=64, origin_rate=0.25, origin_slots=slots)).makespan
        for slots in (1, 4)
    )
    assert four < one / 2.5


def test_servers_that_go_and_come_do_not_stop_it() -> None:
    outcome = simulate(World(servers=40, shards=40, churn=0.01, seed=3))
    assert outcome.left > 5
    assert outcome.progress[-1][1] == 1
    assert outcome.makespan < 4 * outcome.world.bound


def test_one_server_takes_everything_from_the_origin() -> None:
    assert simulate(World(servers=1, shards=10)).makespan == 10


def test_the_same_seed_gives_the_same_run() -> None:
    world = World(servers=20, shards=30, churn=0.01, seed=7)
    assert simulate(world).progress == simulate(world).progress


def test_time_and_origin_are_counted_forward() -> None:
    progress = simulate(World(servers=10, shards=20)).progress
    assert all(a[0] < b[0] and a[1] <= b[1] for a, b in pairwise(progress))


def test_the_two_bounds_agree_where_both_speak() -> None:
    """The second lets the origin give each shard once only, which may cost a round."""
    for servers in range(2, 70):
        for shards in (1, 5, 64):
            strict = slow_origin_bound(servers, shards, transfer=1, slots=1)
            assert unit_bound(servers, shards) <= strict <= unit_bound(servers, shards) + 1
            assert strict == shards + math.ceil(math.log2(servers))


def test_shards_spread_as_fast_as_all_links_allow() -> None:
    assert spread(1, 5) == 0
    assert spread(8, 1) == 3
    assert spread(8, 2) == 3
    assert spread(64, 4) == 7


def test_the_picture_is_an_svg_with_line_and_bound() -> None:
    picture = ET.fromstring(draw(simulate(World(servers=8, shards=16))))  # noqa: S314 - our own
    names = [one.tag.rpartition("}")[2] for one in picture]
    assert {"polyline", "line", "title"} <= set(names)
