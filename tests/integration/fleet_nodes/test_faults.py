"""What comes between a node and its sentinel, in the middle of a job: the job ends with the known answer."""

import asyncio
import signal

import pytest

from tests.support.wire import wire_to_web

from .conftest import OpenPlace
from .place import Place, known_answer
from .test_the_same_answer import is_the_same

pytestmark = pytest.mark.timeout(300)

ITERATIONS = 600_000


async def has_begun(place: Place, nodes: int) -> None:
    while len(await place.holders()) < nodes:  # noqa: ASYNC110 - of other processes
        await asyncio.sleep(0.05)


async def test_everything_but_the_nodes_is_killed_and_started_again(open_place: OpenPlace) -> None:
    place = await open_place()
    await asyncio.gather(place.node(), place.node())
    job = await place.start_job(iterations=ITERATIONS, chunks=100)
    await has_begun(place, 2)
    await place.up.kill_group()
    await place.up.start()
    assert is_the_same(await place.result(job), known_answer(ITERATIONS))
    assert all(node.is_alive for node in place.nodes)
    assert len(await place.list_nodes()) == 2


async def test_a_node_that_is_cut_off_loses_its_chunks_and_comes_back(open_place: OpenPlace) -> None:
    place = await open_place()
    async with wire_to_web(place.url) as (wire, url):
        await asyncio.gather(place.node(), place.node("--url", url))
        job = await place.start_job(iterations=ITERATIONS, chunks=20)
        await has_begun(place, 2)
        wire.cut()
        assert is_the_same(await place.result(job), known_answer(ITERATIONS))
        wire.mend()
        cut_off = place.nodes[1]
        again = await place.start_job(iterations=ITERATIONS, chunks=200, seed=1)
        async with asyncio.timeout(60):
            while cut_off not in await place.holders():  # noqa: ASYNC110 - of other processes
                await asyncio.sleep(0.05)
        assert is_the_same(await place.result(again), known_answer(ITERATIONS, 1))


async def test_a_node_that_is_paused_for_long_does_not_count_twice(open_place: OpenPlace) -> None:
    place = await open_place()
    first, _ = await asyncio.gather(place.node(), place.node())
    job = await place.start_job(iterations=ITERATIONS, chunks=20)
    await has_begun(place, 2)
    first.signal(signal.SIGSTOP)
    await asyncio.sleep(6)  # longer than fleet_silence_s
    first.signal(signal.SIGCONT)
    assert is_the_same(await place.result(job), known_answer(ITERATIONS))
