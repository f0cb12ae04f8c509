"""(b) Completing a chunk and getting the next one, beside a script of the same writes that decides nothing.

Both sides get as many words and answer with as many, and both answers are read the same way; what differs is
what the script does. ``server`` is the processor time of the server alone, which other load does not touch.
"""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redis.asyncio import Redis

from bench.fleet.crowd import TASK, admit, open_plan
from bench.harness.samples import Samples
from shoal.brain.scripts import Script, Word, load_scripts
from shoal.fleet.brain import MOST_PER_CALL, FleetBrain

NODES = 2048
BATCH = MOST_PER_CALL
WORDS = 14
FRESH_MS = 60_000
_RESULT = (10, 5.25, 2.125, 1.5, 9.75)
_ours = load_scripts("shoal.fleet")
_raw = Script("raw_writes", (Path(__file__).parent / "raw_writes.lua").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Side:
    per_s: Samples
    server_us: Samples


async def compare(client: Redis, *, calls: int, repetitions: int) -> tuple[Side, Side]:
    """Ours and the raw one in turns, so that what else the machine does strikes both."""
    measured: tuple[list[tuple[float, float]], list[tuple[float, float]]] = ([], [])
    for _ in range(repetitions + 1):
        for side, found in zip((ours, raw), measured, strict=True):
            found.append(await side(client, calls))
    first, second = (
        Side(Samples([one for one, _ in found[1:]]), Samples([one for _, one in found[1:]]))
        for found in measured
    )
    return first, second


async def ours(client: Redis, calls: int) -> tuple[float, float]:
    """Every call carries a result of each of ``BATCH`` nodes, and answers with the next chunk of each."""
    await client.flushall()
    brain = FleetBrain(client)
    await open_plan(brain, chunks=(calls + 1) * BATCH + NODES)
    nodes = await admit(brain, NODES, depth=1)
    held: dict[str, list[str]] = {}
    for first in range(0, NODES, BATCH):
        for one in await brain.assign_chunk(nodes[first : first + BATCH]):
            held[one.node] = one.id.split(".")

    async def call(chosen: list[str], _: int) -> None:
        items: list[Word] = []
        for node in chosen:
            items += [node, *held[node], 1, *_RESULT]
        words = await _ours.complete_chunk(client, args={"fresh_ms": FRESH_MS, "items": items})
        for at, node in enumerate(chosen):
            assert words[at * WORDS] == b"OK"
            held[node] = words[at * WORDS + 7].decode().split(".")

    return await _measured(client, nodes, calls, call)


async def raw(client: Redis, calls: int) -> tuple[float, float]:
    await client.flushall()
    nodes = [f"node-{number}" for number in range(NODES)]
    held: dict[str, list[str]] = {}

    async def call(chosen: list[str], number: int) -> None:
        items: list[Word] = []
        for at, node in enumerate(chosen):
            items += [node, TASK, number * BATCH + at, 1, 1, *_RESULT]
        words = await _raw(client, args={"task": TASK, "base": NODES, "items": items})
        for at, node in enumerate(chosen):
            assert words[at * WORDS] == b"OK"
            held[node] = words[at * WORDS + 7].decode().split(".")

    return await _measured(client, nodes, calls, call)


async def _measured(
    client: Redis, nodes: list[str], calls: int, call: Callable[[list[str], int], Awaitable[None]]
) -> tuple[float, float]:
    """Chunks a second, and microseconds of the server for each."""
    before, began = await _server_s(client), time.perf_counter()
    for number in range(calls):
        first = number * BATCH % NODES
        await call(nodes[first : first + BATCH], number)
    spent = time.perf_counter() - began
    return calls * BATCH / spent, (await _server_s(client) - before) * 1e6 / (calls * BATCH)


async def _server_s(client: Redis) -> float:
    found: Any = await client.info("cpu")
    return float(found["used_cpu_user"] + found["used_cpu_sys"])
