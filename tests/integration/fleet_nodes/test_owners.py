"""``shoal node``: what an owner sees of nodes, and what nodes do when they are told."""

import asyncio
import time
from pathlib import Path
from typing import Any

from tests.integration.cli.shoal_command import Shoal, refused
from tests.scenarios.processes import mentioning

from .conftest import OpenPlace
from .place import APP, Place


async def shown(place: Place, *arguments: str) -> Any:
    return await asyncio.to_thread(Shoal(place.data).json, "node", *arguments)


async def test_an_owner_steers_a_node(open_place: OpenPlace) -> None:
    place = await open_place()
    node = await place.node()
    assert (await shown(place, "rename", node.name, "attic"))["name"] == "attic"
    assert (await shown(place, "limit", "attic", "1"))["maxParallel"] == 1
    assert (await shown(place, "limit", "attic", "--none"))["maxParallel"] is None
    assert (await shown(place, "access", "attic", "--public", "--discord", "1"))["access"] == [
        {"accessType": "discord", "targetId": "1"},
        {"accessType": "public", "targetId": ""},
    ]
    assert (await shown(place, "access", "attic", "--owner-only"))["access"] == []
    assert (await shown(place, "pause", "attic"))["paused"]
    job = await place.start_job(iterations=1000, chunks=2)
    await asyncio.sleep(2)
    assert not await place.holders()
    assert not (await shown(place, "resume", "attic"))["paused"]
    await place.result(job)
    (listed,) = await shown(place, "list")
    assert listed == await shown(place, "show", listed["id"])
    assert {"dps@1", "mandelbrot@1"} == {*listed["engines"]}


async def test_a_revoked_node_is_put_out_and_stays_out(open_place: OpenPlace) -> None:
    place = await open_place()
    node = await place.node()
    (known,) = await place.list_nodes()
    await place.ask(lambda client: client.revoke_node(known.id))
    began = time.monotonic()
    assert await node.ended() == 4
    assert time.monotonic() - began < 5, "it hears of it at once; its process takes a moment to end"
    assert node.last_words().endswith("(node_revoked)")
    await node.start()
    assert await node.ended() == 4


async def test_what_cannot_be_done_is_said(open_place: OpenPlace) -> None:
    place = await open_place()
    shoal = Shoal(place.data)
    for arguments, code, exit_code in (
        (["show", "nobody"], "node_not_found", 3),
        (["claim", "ABCD-EFGH-JKLM"], "claim_code_unknown", 3),
        (["access", "nobody"], "invalid_access", 2),
        (["limit", "nobody"], "invalid_limit", 2),
    ):
        refused(await asyncio.to_thread(shoal.run, "node", *arguments), code=code, exit_code=exit_code)


async def test_up_brings_nodes_that_are_the_same_ones_after_it_was_killed(open_place: OpenPlace) -> None:
    place = await open_place("--nodes", "2")
    await place.result(await place.start_job(iterations=1000, chunks=10))
    await place.until(lambda: len(place.known_nodes()) == 2)
    before = place.known_nodes()
    assert {node.name for node in before} == {"local-1", "local-2"}
    await place.up.kill_group()
    await place.up.start()
    await place.result(await place.start_job(iterations=1000, chunks=10, seed=1))
    assert [node.id for node in place.known_nodes()] == [node.id for node in before]
    await place.up.stop()
    assert node_processes(place.folder) == []


def node_processes(folder: Path) -> list[int]:
    return [process.pid for process in mentioning(folder) if {"node", APP} <= {*process.cmdline()}]
