"""Chunks in real processes: how they end, what stops them, and that nothing of them is left."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import pytest_asyncio

from shoal.node.chunks import Computed, Ending, NotComputed
from shoal.node.pool import ChunkPool
from shoal.node.processes import Processes
from shoal.runtime.errors import Invalid
from shoal.wire.fleet import HeldChunk
from tests.architecture.repository import ROOT

from .engines import REFERENCE, app, chunk

DEADLINE_S = 20.0
LOOK_EVERY_S = 0.01


class Field:
    """A pool, the config that every hash means, and how chunks ended."""

    def __init__(self, *, places: int = 1, longest_s: float = 60.0) -> None:
        self.config: dict[str, Any] = {}
        self.endings: dict[str, Ending] = {}
        self.pool = ChunkPool(
            {engine.identity: engine for engine in app.engines.values()},
            Processes([REFERENCE], niceness=7, longest_s=longest_s),
            places=places,
            config_of=self.config_of,
            ended=self.ended,
        )

    async def config_of(self, config_hash: str) -> Any:
        if config_hash == "f" * 64:
            raise Invalid("config_damaged", "It is no JSON.")
        return self.config

    def ended(self, chunk: HeldChunk, ending: Ending) -> None:
        assert chunk.id not in self.endings
        self.endings[chunk.id] = ending

    async def ending_of(self, chunk: HeldChunk) -> Ending:
        await until(lambda: chunk.id in self.endings)
        return self.endings[chunk.id]

    async def values_of(self, chunk: HeldChunk) -> list[Any]:
        ending = await self.ending_of(chunk)
        assert isinstance(ending, Computed), ending
        values: list[Any] = ending.result["values"]
        return values


@pytest_asyncio.fixture
async def field() -> AsyncIterator[Field]:
    field = Field()
    yield field
    await field.pool.stop()


async def until(condition: Any) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while not condition():  # noqa: ASYNC110 - of other processes
            await asyncio.sleep(LOOK_EVERY_S)


async def pids_in(folder: Path) -> list[int]:
    """The processes an engine has noted, once it has."""
    await until((folder / "pids").exists)
    return [int(pid) for pid in (folder / "pids").read_text().split()]


def is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


async def all_gone(pids: list[int]) -> None:
    await until(lambda: not any(map(is_alive, pids)))


async def test_chunks_run_one_after_the_other_in_a_process_that_gives_way(field: Field) -> None:
    field.config = {"a": [1]}
    first, second = chunk(0, "where"), chunk(1, "where")
    field.pool.take([first, second])
    (one,), (other,) = await field.values_of(first), await field.values_of(second)
    assert one == other, "the process is used again"
    assert one["pid"] != os.getpid()
    assert (one["niceness"], one["config"]) == (7, {"a": [1]})
    assert field.pool.held == {}
    assert field.pool.chunk_s is not None
    await field.pool.stop()
    await all_gone([one["pid"]])


async def test_the_result_is_that_of_its_range(field: Field) -> None:
    field.pool.take([third := chunk(3, "count", iterations=1000)])
    ending = await field.ending_of(third)
    assert isinstance(ending, Computed)
    least, mean, greatest = (ending.result[name] for name in ("minDps", "meanDps", "maxDps"))
    assert (least, mean, greatest, ending.result["iterations"]) == (3001.0, 3500.5, 4000.0, 1000)


async def test_a_chunk_that_comes_twice_is_held_once(field: Field) -> None:
    same = chunk(0, "slow", iterations=10)
    field.pool.take([same, same])
    field.pool.take([same])
    assert field.pool.held == {same.id: 0.0}
    assert len(await field.values_of(same)) == 10


@pytest.mark.parametrize(
    ("how", "code", "reason"),
    [
        ("raise", "engine_failed", "ValueError: no luck"),
        ("exit", "engine_failed", "SystemExit: 3"),
        ("crash", "engine_died", "Its process was ended by SIGSEGV."),
        ("hungry", "memory_limit_exceeded", "It needs more than the 200 MB it may use."),
        ("large", "result_too_large", ""),
        ("nothing", "invalid_values", ""),
    ],
)
async def test_one_that_fails_says_why_and_the_next_one_runs(
    field: Field, how: str, code: str, reason: str
) -> None:
    field.config = {"how": how}
    field.pool.take([bad := chunk(0, "bad"), good := chunk(1, "where")])
    ending = await field.ending_of(bad)
    assert isinstance(ending, NotComputed)
    assert ending.code == code
    assert ending.reason.startswith(reason)
    assert await field.values_of(good)


async def test_what_cannot_be_begun_says_why(field: Field) -> None:
    field.pool.take([unknown := chunk(0, "other"), damaged := chunk(1, "where", "f" * 64)])
    for one, code in ((unknown, "unknown_engine"), (damaged, "config_damaged")):
        ending = await field.ending_of(one)
        assert isinstance(ending, NotComputed)
        assert ending.code == code


async def test_a_chunk_has_its_time(tmp_path: Path) -> None:
    field = Field(longest_s=4.0)
    field.config = {"folder": str(tmp_path)}
    try:
        field.pool.take([stuck := chunk(0, "stuck"), next_one := chunk(1, "where")])
        pids = await pids_in(tmp_path)
        ending = await field.ending_of(stuck)
        assert isinstance(ending, NotComputed)
        assert ending.code == "chunk_took_too_long"
        await all_gone(pids)
        assert await field.values_of(next_one)
    finally:
        await field.pool.stop()


async def test_progress_is_told_while_it_runs(field: Field) -> None:
    field.pool.take([slow := chunk(0, "slow", iterations=500)])
    await until(lambda: 0 < field.pool.held[slow.id] < 1)


async def test_a_dropped_chunk_stops_between_batches_and_leaves_its_process(
    field: Field, tmp_path: Path
) -> None:
    field.config = {"folder": str(tmp_path)}
    field.pool.take([long := chunk(0, "slow", iterations=100_000), waiting := chunk(1, "slow")])
    (pid,) = await pids_in(tmp_path)
    field.pool.drop([long.id, waiting.id, "unknown"])
    await until(lambda: not field.pool.held)
    field.pool.take([after := chunk(2, "where")])
    (answer,) = await field.values_of(after)
    assert answer["pid"] == pid
    assert set(field.endings) == {after.id}, "what was dropped is not heard of"


async def test_a_dropped_chunk_that_is_deaf_is_killed_with_all_it_started(
    field: Field, tmp_path: Path
) -> None:
    field.config = {"folder": str(tmp_path)}
    field.pool.take([stuck := chunk(0, "stuck")])
    pids = await pids_in(tmp_path)
    assert len(pids) == 2
    field.pool.drop([stuck.id])
    await all_gone(pids)
    await until(lambda: not field.pool.held)


async def test_a_dropped_chunk_that_comes_again_at_once_is_computed(field: Field, tmp_path: Path) -> None:
    field.config = {"folder": str(tmp_path)}
    field.pool.take([again := chunk(0, "slow", iterations=100)])
    await pids_in(tmp_path)
    field.pool.drop([again.id])
    assert field.pool.held == {}
    field.pool.take([again])
    assert len(await field.values_of(again)) == 100
    assert field.pool.held == {}


async def test_with_no_place_nothing_begins_and_with_more_they_run_side_by_side(field: Field) -> None:
    field.pool.resize(0)
    chunks = [chunk(number, "slow", iterations=300) for number in range(2)]
    field.pool.take(chunks)
    await asyncio.sleep(0)
    assert field.pool.held == {"task.0.1": 0.0, "task.1.1": 0.0}
    field.pool.resize(2)
    await until(lambda: all(share > 0 for share in field.pool.held.values()))
    assert len(field.pool.held) == 2


async def test_nothing_outlives_a_node_that_is_killed(tmp_path: Path) -> None:
    module = "tests.integration.node.pool_of_its_own"
    node = await asyncio.create_subprocess_exec(sys.executable, "-m", module, str(tmp_path), cwd=ROOT)
    try:
        pids = await pids_in(tmp_path)
        assert all(map(is_alive, pids))
    finally:
        os.kill(node.pid, signal.SIGKILL)
        await node.wait()
    await all_gone(pids)
