"""Room ``fleet``: jobs of several owners over fifty nodes while everything but the ledger is struck.

Every fourth run has a master and a replica under Redis Sentinels as its brain, and failovers; the others have
a single server that is killed and comes back without its last second. Every job must end with the answer
that is computed here in one piece.
"""

import math
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import msgspec

from tests.scenarios.apps.dice import CHUNK, Throws, right_answer
from tests.scenarios.checks import trouble_in_logs, trouble_in_postgres_log, wrong_in_ledger
from tests.scenarios.fleet.cluster import SENTINELS, FleetCluster, fleet_in
from tests.scenarios.fleet.faults import FleetFault, all_faults
from tests.scenarios.strikes import Verdict

END_S = 240.0
NOTICE_S = 90.0
FIRST_MARK, LAST_MARK = 0.1, 0.7
SAME = 1e-12

START_JOB = "SELECT create_job('throws', $1::text::jsonb, $2) AS id"
RESULTS = "SELECT id, result FROM jobs"


@dataclass(frozen=True)
class Load:
    crews: int
    owners: int
    jobs: int
    chunks: int
    """Of each job."""
    pause_s: float


FULL = Load(crews=10, owners=5, jobs=20, chunks=1000, pause_s=0.05)
SMALL = Load(crews=3, owners=3, jobs=7, chunks=60, pause_s=0.1)


async def run(folder: Path, verdict: Verdict, *, load: Load = FULL) -> None:
    chance = random.Random(verdict.seed)  # noqa: S311 - it must be repeatable
    with_replica = int(verdict.seed.rpartition(".")[2]) % 4 == 0
    async with fleet_in(folder, crews=load.crews, owners=load.owners, with_replica=with_replica) as cluster:
        verdict.note(f"the brain is {'a master with a replica' if with_replica else 'a single server'}")
        began = time.monotonic()
        faults = all_faults(chance, sentinels=SENTINELS, crews=load.crews)
        right = await strike_in_waves(cluster, faults, chance, verdict, load)
        if not await cluster.ledger.until(cluster.ledger.all_jobs_ended, within_s=END_S):
            verdict.complaints += [f"still open: {one}" for one in await cluster.ledger.what_is_open()]
        verdict.note(
            f"{load.jobs} jobs of {load.chunks} chunks, all faults and restarts included in "
            f"{time.monotonic() - began:.0f} s"
        )
        verdict.complaints += [f"{one} ended by itself" for one in cluster.fallen()]
        verdict.complaints += await wrong_in_ledger(cluster.ledger, jobs=load.jobs, tasks=2 * load.jobs)
        verdict.complaints += await wrong_in_results(cluster, right)
        verdict.complaints += await left_in_brain(cluster)
        verdict.complaints += await cluster.stop()
        verdict.complaints += trouble_in_postgres_log(cluster.directory.logs / "postgres.log")
        verdict.complaints += trouble_in_logs([one.log_file for one in cluster.processes])
    verdict.require_a_hit()


async def strike_in_waves(
    cluster: FleetCluster,
    faults: Sequence[FleetFault],
    chance: random.Random,
    verdict: Verdict,
    load: Load,
) -> dict[UUID, Throws]:
    """Start a share of the jobs, strike somewhere in it, go on with the next share and the next fault."""
    started: dict[UUID, Throws] = {}
    for wave, fault in enumerate(faults):
        first, last = (load.jobs * number // len(faults) for number in (wave, wave + 1))
        for number in range(first, last):
            params = Throws(chance.randrange(2**50), load.chunks, chance.randint(2, 100), load.pause_s)
            rows = await cluster.ledger.rows(
                START_JOB, msgspec.json.encode(params).decode(), cluster.owners[number % load.owners]
            )
            started[rows[0]["id"]] = params
        mark = int(chance.uniform(FIRST_MARK, LAST_MARK) * (last - first) * load.chunks)
        await strike_at(cluster, mark, fault, verdict)
    return started


async def strike_at(cluster: FleetCluster, mark: int, fault: FleetFault, verdict: Verdict) -> None:
    """Wait until so many chunks are done of jobs that are open, or none is open any more; then strike."""

    async def reached() -> bool:
        return bool(cluster.fallen()) or await cluster.done() >= mark

    number = len(verdict.caught) + 1
    if not await cluster.ledger.until(reached, within_s=NOTICE_S) or cluster.fallen():
        verdict.complaints.append(f"the work stopped before fault {number} ({fault.name})")
        return
    began, done = time.monotonic(), await cluster.done()
    caught = await fault.strike(cluster)
    verdict.caught[f"{number} {fault.name}"] = caught
    effect = f"hit {caught} held chunks" if caught else "hit no work in progress"
    took = time.monotonic() - began
    verdict.note(f"fault {number}: {fault.name}, {done} chunks done of open jobs: {effect}; {took:.1f} s")


async def wrong_in_results(cluster: FleetCluster, right: dict[UUID, Throws]) -> list[str]:
    complaints = []
    results = {row["id"]: row["result"] for row in await cluster.ledger.rows(RESULTS)}
    for job, params in right.items():
        found = results.get(job)
        found = msgspec.json.decode(found) if isinstance(found, str | bytes) else found
        if found is None:
            complaints.append(f"job {job} has no result")
            continue
        exact = right_answer(params)
        expected = {
            "meanDps": exact.mean,
            "stdDps": exact.deviation,
            "minDps": exact.least,
            "maxDps": exact.greatest,
            "totalIterations": params.chunks * CHUNK,
        }
        same = {"minDps", "maxDps", "totalIterations"}
        wrong = {
            name: (found.get(name), value)
            for name, value in expected.items()
            if found.get(name) != value
            and (name in same or not math.isclose(found.get(name, 0), value, rel_tol=SAME))
        }
        if wrong:
            complaints.append(f"job {job} ({msgspec.structs.asdict(params)}) has a wrong result: {wrong}")
    return complaints


async def left_in_brain(cluster: FleetCluster) -> list[str]:
    """A plan goes a moment after its job has ended."""

    async def is_clean() -> bool:
        return not await cluster.left_in_brain()

    if await cluster.ledger.until(is_clean, within_s=10):
        return []
    return [f"left in the brain: {', '.join((await cluster.left_in_brain())[:5])}"]
