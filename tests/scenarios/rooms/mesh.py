"""Room ``mesh``: a data set onto eight machines while they are killed, paused, late, robbed and lied to.

First a push in peace: every byte equal, each shard left the origin once. Then another with faults: an agent
is killed, one is paused for longer than it takes to count as dead, one loses its disk, one comes late, one
gives out wrong bytes all the time, and the coordinator is killed with everything around it. In the end every
agent has every byte, whatever struck.
"""

import asyncio
import json
import os
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.scenarios.checks import trouble_in_logs
from tests.scenarios.mesh_cluster import Agent, MeshCluster, mesh_cluster_in
from tests.scenarios.strikes import Verdict

MEBIBYTE = 1024 * 1024
END_S = 150.0
PEACE_S = 90.0
DEAD_S = 6.0


@dataclass(frozen=True)
class Load:
    agents: int
    mebibytes: int


FULL = Load(agents=8, mebibytes=60)
SMALL = Load(agents=4, mebibytes=30)
"""For the tests."""

Strike = Callable[[MeshCluster, Agent], Awaitable[None]]


async def run(folder: Path, verdict: Verdict, *, load: Load = FULL) -> None:
    chance = random.Random(verdict.seed)  # noqa: S311 - it must be repeatable
    async with mesh_cluster_in(folder, agents=load.agents, liars=1) as cluster:
        late = cluster.agents[-1]
        await asyncio.gather(*(one.start() for one in cluster.agents[:-1]))
        await in_peace(cluster, cluster.agents[1:-1], load, verdict)
        await under_fire(cluster, late, load, chance, verdict)
        verdict.complaints += await cluster.stop()
        logs = [cluster.up_log, *(one.log_file for one in cluster.agents)]
        verdict.complaints += trouble_in_logs(logs)
    verdict.require_a_hit()


async def in_peace(cluster: MeshCluster, agents: list[Agent], load: Load, verdict: Verdict) -> None:
    """Without the liar, who would make shards leave the origin twice: to all with the label of the others."""
    source = write_source(cluster.folder / "peace", mebibytes=load.mebibytes // 3)
    published = await publish(cluster, source, "peace")
    seen: dict[str, str] = {}

    async def all_there() -> bool:
        view = await cluster.read("/api/mesh")
        seen.update({one["address"]: one["id"] for one in view["servers"]})
        return len(view["servers"]) == len(agents) + 1

    if not await cluster.until(all_there, within_s=30):
        verdict.complaints.append(f"only {len(seen)} agents are known to the coordinator")
    honest = [id_of(one) for one in agents]
    job = await push(cluster, "peace", honest)
    if not await cluster.until(lambda: ended(cluster, job), within_s=PEACE_S):
        verdict.complaints.append(f"the push in peace did not end: {await cluster.read(f'/api/jobs/{job}')}")
        return
    result = (await cluster.read(f"/api/jobs/{job}"))["result"]
    verdict.note(
        f"in peace: {result['from_origin']} shards from the origin, {result['from_peers']} from peers"
    )
    if result["from_origin"] != published["shards"]:
        verdict.complaints.append(
            f"{result['from_origin']} transfers of {published['shards']} shards left the origin"
        )
    if sorted(result["complete"]) != sorted(honest):
        verdict.complaints.append(f"complete are {len(result['complete'])} of {len(honest)} servers")
    verdict.complaints += await wrong_bytes(cluster, agents, source, "peace")


async def under_fire(
    cluster: MeshCluster, late: Agent, load: Load, chance: random.Random, verdict: Verdict
) -> None:
    source = write_source(cluster.folder / "fire", mebibytes=load.mebibytes)
    published = await publish(cluster, source, "fire")
    job = await push(cluster, "fire", [])
    victims = cluster.agents[1:-1]
    chance.shuffle(victims)
    strikes: list[tuple[str, Strike]] = list(STRIKES.items())
    chance.shuffle(strikes)
    for number, (name, strike) in enumerate(strikes):
        await until_share(cluster, (number + 1) / (len(strikes) + 3))
        victim = victims[number % len(victims)]
        at_work = not await ended(cluster, job)
        verdict.note(f"{name}: {victim.name} has {victim.whole_shards} shards")
        await strike(cluster, victim)
        verdict.caught[name] = int(at_work)
    await late.start()
    if not await cluster.until(lambda: ended(cluster, job), within_s=END_S):
        verdict.complaints.append(f"the push did not end: {await cluster.read('/api/mesh')}")
    found = await cluster.read(f"/api/jobs/{job}")
    if found["status"] != "complete":
        verdict.complaints.append(f"the job is {found['status']}: {found['error']}")
    elif len(found["result"]["complete"]) < load.agents - 3:  # without who is late, was paused, lost its disk
        verdict.complaints.append(f"the goal was {len(found['result']['complete'])} servers at the end")
    verdict.note(f"{published['shards']} shards, result {shown(found['result'])}")
    verdict.complaints += await wrong_bytes(cluster, cluster.agents, source, "fire")


async def kill(_: MeshCluster, victim: Agent) -> None:
    await victim.kill()
    await victim.start()


async def pause(_: MeshCluster, victim: Agent) -> None:
    victim.pause()
    await asyncio.sleep(DEAD_S)
    victim.resume()


async def lose_disk(_: MeshCluster, victim: Agent) -> None:
    await victim.kill()
    victim.lose_disk()
    await victim.start()


async def kill_coordinator(cluster: MeshCluster, _: Agent) -> None:
    """With the API that is the origin, PostgreSQL and Redis."""
    await cluster.up.kill_tree()
    await cluster.up.start()


STRIKES: dict[str, Strike] = {
    "kill -9 of an agent": kill,
    "pause of an agent": pause,
    "loss of a disk": lose_disk,
    "kill -9 of coordinator and origin": kill_coordinator,
}


async def until_share(cluster: MeshCluster, share: float) -> None:
    """Until so much of the copies is there, or the push is over."""

    async def reached() -> bool:
        view = await cluster.read("/api/mesh")
        goal = [one["owned"] for one in view["servers"] if one["inGoal"]]
        return bool(goal) and sum(goal) >= share * len(goal) * view["shards"]

    await cluster.until(reached, within_s=60)


async def wrong_bytes(cluster: MeshCluster, agents: list[Agent], source: Path, name: str) -> list[str]:
    """Laid out at every agent, and every byte as it was; who came late is given some time."""

    async def laid_out() -> bool:
        return all((one.store / "data" / name / ".shoal-data-set").exists() for one in agents)

    if not await cluster.until(laid_out, within_s=60):
        return [
            f"{one.name} has no {name}: {one.whole_shards} shards, says {one.last_words()[-300:]}"
            for one in agents
            if not (one.store / "data" / name).exists()
        ]
    return [complaint for one in agents for complaint in differences(source, one.store / "data" / name)]


def differences(source: Path, copy: Path) -> list[str]:
    files = [file for file in source.rglob("*") if file.is_file()]
    others = [copy / file.relative_to(source) for file in files]
    return [f"{b} is another" for a, b in zip(files, others, strict=True) if a.read_bytes() != b.read_bytes()]


async def ended(cluster: MeshCluster, job: str) -> bool:
    return (await cluster.read(f"/api/jobs/{job}"))["status"] in {"complete", "failed", "cancelled"}


async def publish(cluster: MeshCluster, source: Path, name: str) -> dict[str, Any]:
    published = await cluster.shoal(
        "mesh", "publish", str(source), "--name", name, "--shard-mb", "1", "--json"
    )
    found: dict[str, Any] = json.loads(published)
    return found


async def push(cluster: MeshCluster, name: str, to: list[str]) -> str:
    targets = [argument for one in to for argument in ("--to", one)]
    return str(json.loads(await cluster.shoal("mesh", "push", name, *targets, "--json"))["jobId"])


def write_source(folder: Path, *, mebibytes: int) -> Path:
    (folder / "deep").mkdir(parents=True)
    (folder / "large").write_bytes(os.urandom(mebibytes * MEBIBYTE))
    (folder / "deep" / "small").write_bytes(os.urandom(1000))
    return folder


def id_of(agent: Agent) -> str:
    return (agent.store / "server_id").read_text()


def shown(result: dict[str, Any] | None) -> str:
    if result is None:
        return "none"
    return f"{len(result['complete'])} complete, {result['from_origin']} from origin, {result['seconds']} s"
