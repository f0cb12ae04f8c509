"""Room ``jobs``: many jobs over four worker processes while workers and PostgreSQL are struck.

The workers are processes of the scenario's own; ``shoal up`` keeps PostgreSQL and calls the watchdog.
"""

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from tests.scenarios.apps.executions import read_executions
from tests.scenarios.apps.fan import TASKS, right_answer
from tests.scenarios.checks import (
    trouble_in_logs,
    trouble_in_postgres_log,
    wrong_in_answers,
    wrong_in_ledger,
    wrong_in_outputs,
)
from tests.scenarios.cluster import Cluster, cluster_in
from tests.scenarios.strikes import Fault, Planned, Verdict, strike_as_planned

WORKERS = 4
LEASE_S = 3
END_S = 120.0
WATCHDOG_S = 20.0
FIRST_MARK, LAST_MARK = 0.1, 0.6

START_JOBS = """
  SELECT create_job('fan', jsonb_build_object('number', number, 'task_s', $4::float8), $1,
                    p_priority => number % 5) AS id, number
    FROM generate_series($2::int, $3::int) AS number
"""


@dataclass(frozen=True)
class Load:
    jobs: int
    task_s: float
    concurrency: int


FULL = Load(jobs=500, task_s=0.003, concurrency=16)
SMALL = Load(jobs=20, task_s=0.15, concurrency=3)
"""For the tests: one fault of each kind, and few tasks that take long enough to be hit."""


async def run(folder: Path, verdict: Verdict, *, load: Load = FULL) -> None:
    chance = random.Random(verdict.seed)  # noqa: S311 - it must be repeatable
    faults = all_faults(chance) if load is FULL else one_of_each(chance)
    async with cluster_in(
        folder,
        app="tests.scenarios.apps.fan:app",
        workers=WORKERS,
        apart=True,
        worker_lease_s=LEASE_S,
        worker_concurrency=load.concurrency,
    ) as cluster:
        began = time.monotonic()
        right = await strike_in_waves(cluster, faults, chance, verdict, load)

        async def ended_or_fallen() -> bool:
            return bool(cluster.fallen()) or await cluster.ledger.all_jobs_ended()

        if not await cluster.ledger.until(ended_or_fallen, within_s=END_S) or cluster.fallen():
            verdict.complaints += [f"still open: {one}" for one in await cluster.ledger.what_is_open()]
        executed = read_executions(cluster.executions)
        verdict.note(
            f"{await cluster.ledger.completed()} completions of {len(executed)} executions, "
            f"all faults and restarts included in {time.monotonic() - began:.1f} s"
        )
        tasks = load.jobs * (TASKS + 1)  # with the one that plans
        verdict.complaints += await wrong_in_ledger(cluster.ledger, jobs=load.jobs, tasks=tasks)
        verdict.complaints += await wrong_in_outputs(cluster.ledger, executed)
        verdict.complaints += await wrong_in_answers(cluster.ledger, right)
        verdict.complaints += await cluster.stop()
        verdict.complaints += trouble_in_postgres_log(cluster.directory.logs / "postgres.log")
        verdict.complaints += trouble_in_logs(
            [cluster.up_log, *(worker.log_file for worker in cluster.workers)]
        )
    verdict.require_a_hit()


async def strike_in_waves(
    cluster: Cluster, faults: Sequence[Fault], chance: random.Random, verdict: Verdict, load: Load
) -> dict[UUID, int]:
    """Start a share of the jobs, strike somewhere in it, go on with the next share and the next fault.

    Returns the right answer of each job. A wave does not wait for the end of the one before: what was
    struck is worked off beside it.
    """
    owner = cluster.directory.secrets().owner_id
    right: dict[UUID, int] = {}
    for number, fault in enumerate(faults):
        first, last = (load.jobs * wave // len(faults) for wave in (number, number + 1))
        behind, began = await cluster.ledger.completed(), time.monotonic()
        started = await cluster.ledger.rows(START_JOBS, owner, first + 1, last, load.task_s)
        right |= {row["id"]: right_answer(row["number"]) for row in started}
        mark = int(chance.uniform(FIRST_MARK, LAST_MARK) * len(started) * TASKS)
        await strike_as_planned(cluster, Planned(behind + mark, fault), verdict)
        pace = (await cluster.ledger.completed() - behind) / (time.monotonic() - began)
        verdict.note(f"  jobs {first + 1} to {last}: {pace:.0f} tasks/s until the fault was over")
    return right


def all_faults(chance: random.Random) -> list[Fault]:
    """Each kind at least once, in an order and on victims the seed chooses."""
    faults = [
        kill_worker(chance.randint(1, WORKERS)),
        kill_worker(chance.randint(1, WORKERS)),
        pause_worker(chance.randint(1, WORKERS)),
        pause_worker(chance.randint(1, WORKERS)),
        KILL_POSTGRES,
        RESTART_POSTGRES,
        CUT_CONNECTIONS,
    ]
    chance.shuffle(faults)
    return faults


def one_of_each(chance: random.Random) -> list[Fault]:
    return [
        kill_worker(chance.randint(1, WORKERS)),
        CUT_CONNECTIONS,
        pause_worker(chance.randint(1, WORKERS)),
        chance.choice((KILL_POSTGRES, RESTART_POSTGRES)),
    ]


def kill_worker(number: int) -> Fault:
    async def strike(cluster: Cluster) -> int:
        victim = cluster.worker(number)
        await holds_something(cluster, victim.id)
        await victim.kill()
        caught = await cluster.ledger.claimed_by(victim.id)
        await victim.start()
        return caught

    return Fault(f"kill -9 of worker {number}", strike)


def pause_worker(number: int) -> Fault:
    """SIGSTOP until others have been given what it held, then SIGCONT: it wakes up as a zombie."""

    async def strike(cluster: Cluster) -> int:
        victim = cluster.worker(number)
        await holds_something(cluster, victim.id)
        victim.pause()
        caught = await cluster.ledger.claimed_by(victim.id)

        async def was_robbed() -> bool:
            return await cluster.ledger.claimed_by(victim.id) == 0

        robbed = await cluster.ledger.until(was_robbed, within_s=WATCHDOG_S)
        victim.resume()
        assert robbed, f"the tasks of {victim.id} were not taken back within {WATCHDOG_S:.0f} s"
        return caught

    return Fault(f"pause of worker {number} past its lease", strike)


async def kill_postgres(cluster: Cluster) -> int:
    caught = await cluster.ledger.claimed()
    cluster.postgres.kill()
    return caught


async def restart_postgres(cluster: Cluster) -> int:
    caught = await cluster.ledger.claimed()
    cluster.postgres.shut_down_fast()
    return caught


async def cut_connections(cluster: Cluster) -> int:
    caught = await cluster.ledger.claimed()
    await cluster.ledger.cut_all_connections()
    return caught


async def holds_something(cluster: Cluster, worker_id: str) -> None:
    """Wait for a moment in which it does; when none comes, the strike says that it hit nothing."""

    async def holds() -> bool:
        return await cluster.ledger.claimed_by(worker_id) > 0

    await cluster.ledger.until(holds, within_s=5)


KILL_POSTGRES = Fault("kill -9 of PostgreSQL", kill_postgres)
RESTART_POSTGRES = Fault("fast restart of PostgreSQL", restart_postgres)
CUT_CONNECTIONS = Fault("end of all connections", cut_connections)
