"""The fleet: beside an echo, a script without decisions, and the shortest time; and over 10,000 nodes.

* ``complete_vs_http_echo``: chunks a second through one sentinel, beside the same server that answers bytes.
* ``script_vs_raw_evalsha``: completing a chunk and getting the next, beside a script of equal writes.
* ``assign_10k_vs_100_nodes``, ``redis_mb_per_job``, ``messages_per_chunk``: one job of a million chunks.
* ``makespan_vs_ideal``: nodes of speeds from one to ten, of which a tenth dies, on a simulated clock.
"""

import asyncio
from pathlib import Path

import uvloop
from redis.asyncio import Redis

from bench.fleet import front, makespan, scale, scripts
from bench.harness.samples import Samples
from bench.harness.servers import bench_folder, embedded_valkey
from bench.harness.table import say, say_ratio, say_samples, say_settings

CALLS = 400
FEW, MANY = 100, 10_000
NODES, CHUNKS, DYING = 100, 20_000, 0.1


def measure(*, quick: bool) -> dict[str, float]:
    say_settings(
        {
            "(a)": f"{front.NODES} nodes over {front.CONNECTIONS} connections, as Centrifugo asks",
            "(b)": f"{scripts.BATCH} chunks a call, {scripts.NODES} nodes, one connection",
            "(c)": f"{1_000_000 if not quick else 100_000:,} chunks over {MANY:,} nodes, and over {FEW}",
            "(d)": f"{NODES} nodes, {CHUNKS:,} chunks, {DYING:.0%} of the nodes die; ideal: none is idle",
            "goals": "echo >= 0.5, script >= 0.7, nodes >= 0.8, memory <= 1 MB, messages <= 1.05, "
            "makespan <= 1.10",
        }
    )
    with bench_folder() as folder:
        found = uvloop.run(_front(folder / "front", quick=quick))
        return {**found, **asyncio.run(_measure(folder, quick=quick))}


async def _front(folder: Path, *, quick: bool) -> dict[str, float]:
    ours, echo = await front.compare(folder, repetitions=2 if quick else 5)
    sentinel, server = Samples(ours), Samples(echo)
    say_samples([("a sentinel", sentinel, "chunks/s"), ("the echo", server, "answers/s")])
    return {
        "complete_vs_http_echo": say_ratio("complete_vs_http_echo", ("sentinel", sentinel), ("echo", server))
    }


async def _measure(folder: Path, *, quick: bool) -> dict[str, float]:
    async with embedded_valkey(folder) as valkey:
        client = Redis.from_url(valkey.url)
        try:
            return {
                **await _scripts(client, quick=quick),
                **await _scale(client, quick=quick),
                **await _makespan(client, quick=quick),
            }
        finally:
            await client.aclose()


async def _scripts(client: Redis, *, quick: bool) -> dict[str, float]:
    ours, raw = await scripts.compare(
        client, calls=CALLS // 4 if quick else CALLS, repetitions=3 if quick else 7
    )
    say_samples(
        [
            ("complete_chunk", ours.per_s, "chunks/s"),
            ("the same writes alone", raw.per_s, "chunks/s"),
            ("complete_chunk, the server's time", ours.server_us, "us/chunk"),
            ("the same writes alone, the server's time", raw.server_us, "us/chunk"),
        ]
    )
    ratio = say_ratio("script_vs_raw_evalsha", ("complete_chunk", ours.per_s), ("raw", raw.per_s))
    server = raw.server_us.median / ours.server_us.median
    say(f"  by the time of the server alone: {server:.2f}")
    say()
    return {"script_vs_raw_evalsha": ratio, "script_vs_raw_server_time": server}


async def _scale(client: Redis, *, quick: bool) -> dict[str, float]:
    chunks, repetitions = (100_000, 1) if quick else (200_000, 3)
    few, many = [], []
    for _ in range(repetitions):
        few.append(await scale.one_job(client, nodes=FEW, chunks=chunks))
        many.append(await scale.one_job(client, nodes=MANY, chunks=chunks))
    large = many[0] if quick else await scale.one_job(client, nodes=MANY, chunks=1_000_000)
    rate_few, rate_many = (Samples([one.per_s for one in found]) for found in (few, many))
    say_samples(
        [
            (f"complete and assign, {FEW} nodes", rate_few, "chunks/s"),
            (f"complete and assign, {MANY:,} nodes", rate_many, "chunks/s"),
            (f"the first chunks, {FEW} nodes", Samples([one.spread_per_s for one in few]), "chunks/s"),
            (f"the first chunks, {MANY:,} nodes", Samples([one.spread_per_s for one in many]), "chunks/s"),
            (f"memory of a job of {large.chunks:,} chunks", Samples([large.job_mb]), "MB"),
            ("messages", Samples([large.messages / large.chunks]), "per chunk"),
        ]
    )
    ratio = say_ratio("assign_10k_vs_100_nodes", ("10,000 nodes", rate_many), ("100 nodes", rate_few))
    return {
        "assign_10k_vs_100_nodes": ratio,
        "redis_mb_per_job": large.job_mb,
        "messages_per_chunk": large.messages / large.chunks,
    }


async def _makespan(client: Redis, *, quick: bool) -> dict[str, float]:
    found = [
        await makespan.one_job(
            client, nodes=NODES, chunks=CHUNKS // 4 if quick else CHUNKS, dying=DYING, seed=seed
        )
        for seed in range(1 if quick else 5)
    ]
    ratios = Samples([one.ratio for one in found])
    say_samples(
        [
            ("the job", Samples([one.seconds for one in found]), "s"),
            ("ideal", Samples([one.ideal_s for one in found]), "s"),
            ("makespan_vs_ideal", ratios, ""),
        ]
    )
    return {"makespan_vs_ideal": ratios.median}
