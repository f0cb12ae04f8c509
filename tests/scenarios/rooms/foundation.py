"""Room ``foundation``: one small job on ``shoal up`` while one process, or all of them, are killed.

Whatever died, ``shoal up`` is typed again when it does not run any more; then the job completes, every
task once, and its files can be downloaded and are whole.
"""

import random
import time
from pathlib import Path
from uuid import UUID

from tests.scenarios.apps.executions import read_executions
from tests.scenarios.apps.walk import PAGES, RESULT_PAGES, page_content, page_name
from tests.scenarios.checks import trouble_in_logs, trouble_in_postgres_log, wrong_in_ledger, wrong_in_outputs
from tests.scenarios.cluster import Cluster, cluster_in
from tests.scenarios.front_door import front_door_of
from tests.scenarios.strikes import Fault, Planned, Verdict, strike_as_planned

END_S = 60.0
HEALTHY_S = 40.0  # an `up` that gives up on a server gives its worker the grace period first
IN_PROGRESS_S = 5.0
LEASE_S = 3
TASKS = PAGES + 1  # with the one that plans
LAST_MARK = 5


async def run(folder: Path, verdict: Verdict) -> None:
    chance = random.Random(verdict.seed)  # noqa: S311 - it must be repeatable
    fault = FAULTS[int(verdict.seed.rpartition(".")[2]) % len(FAULTS)]
    content_seed, mark = chance.randrange(1_000_000), chance.randint(1, LAST_MARK)
    async with cluster_in(
        folder,
        app="tests.scenarios.apps.walk:app",
        workers=1,
        apart=False,
        worker_lease_s=LEASE_S,
        worker_concurrency=2,
    ) as cluster:
        async with front_door_of(cluster) as door:
            job_id = await door.start_job("walk", {"seed": content_seed})
        await strike_as_planned(cluster, Planned(mark, fault), verdict)
        struck = time.monotonic()
        await up_again(cluster, verdict)
        if not await cluster.ledger.until(cluster.ledger.all_jobs_ended, within_s=END_S):
            verdict.complaints += [f"still open: {one}" for one in await cluster.ledger.what_is_open()]
        executed = read_executions(cluster.executions)
        verdict.note(
            f"the job ended {time.monotonic() - struck:.1f} s after the fault: "
            f"{PAGES} tasks in {len(executed)} executions"
        )
        verdict.complaints += await wrong_in_ledger(cluster.ledger, jobs=1, tasks=TASKS)
        verdict.complaints += await wrong_in_outputs(cluster.ledger, executed)
        verdict.complaints += await wrong_at_the_front_door(cluster, job_id, content_seed)
        verdict.complaints += await cluster.stop()
        verdict.complaints += trouble_in_postgres_log(cluster.directory.logs / "postgres.log")
        verdict.complaints += trouble_in_logs([cluster.up_log])
    verdict.require_a_hit()


async def up_again(cluster: Cluster, verdict: Verdict) -> None:
    """What a person does: look whether it still runs, and start it when it does not."""

    async def healthy_or_ended() -> bool:
        async with front_door_of(cluster) as door:
            return not cluster.up.is_alive or await door.is_healthy()

    began = time.monotonic()
    if not await cluster.ledger.until(healthy_or_ended, within_s=HEALTHY_S):
        verdict.complaints.append(f"up runs, but is not healthy {HEALTHY_S:.0f} s after the fault")
        return
    took = time.monotonic() - began
    if cluster.up.is_alive:
        verdict.note(f"up kept running; healthy again after {took:.1f} s")
        return
    verdict.note(f"up ended, {took:.1f} s after the fault, with code {await cluster.up.ended()}")
    began = time.monotonic()
    await cluster.up.start()
    verdict.note(f"up again in {time.monotonic() - began:.1f} s")


async def wrong_at_the_front_door(cluster: Cluster, job_id: UUID, content_seed: int) -> list[str]:
    complaints = []
    async with front_door_of(cluster) as door:
        job = await door.read_job(job_id)
        if (job["result"] or {}).get("pages") != RESULT_PAGES:
            complaints.append(f"the result of the job is {job['result']}")
        names = sorted(one["name"] for one in job["artifacts"])
        if names != [page_name(number) for number in range(1, PAGES + 1)]:
            complaints.append(f"the artifacts are {names}")
        right = {page_name(number): page_content(content_seed, number) for number in range(1, PAGES + 1)}
        complaints += [
            f"{artifact['name']} is not what its task made"
            for artifact in job["artifacts"]
            if await door.download(artifact) != right.get(artifact["name"])
        ]
    return complaints


async def in_progress(cluster: Cluster) -> int:
    """How many tasks are claimed, at a moment in which some are (between two tasks none may be)."""

    async def some() -> bool:
        return await cluster.ledger.claimed() > 0

    await cluster.ledger.until(some, within_s=IN_PROGRESS_S)
    return await cluster.ledger.claimed()


async def kill_everything(cluster: Cluster) -> int:
    caught = await in_progress(cluster)
    await cluster.up.kill_tree()
    return caught


async def kill_up(cluster: Cluster) -> int:
    """Its process group is itself: servers and workers have sessions of their own."""
    caught = await in_progress(cluster)
    await cluster.up.kill_group()
    return caught


async def kill_worker(cluster: Cluster) -> int:
    await in_progress(cluster)
    for worker in cluster.up.workers():
        worker.kill()
    return await cluster.ledger.claimed()


async def kill_postgres(cluster: Cluster) -> int:
    caught = await in_progress(cluster)
    cluster.postgres.kill()
    return caught


async def kill_valkey(cluster: Cluster) -> int:
    caught = await in_progress(cluster)
    cluster.valkey.kill()
    return caught


FAULTS = (
    Fault("kill -9 of everything at once", kill_everything),
    Fault("kill -9 of the process group of up", kill_up),
    Fault("kill -9 of the worker", kill_worker),
    Fault("kill -9 of PostgreSQL", kill_postgres),
    Fault("kill -9 of Valkey", kill_valkey),
)
