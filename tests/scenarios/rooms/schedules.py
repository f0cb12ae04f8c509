"""Room ``schedules``: five schedulers, thousands of schedules of every second, and whoever leads is struck.

Leaders are killed, paused past their lease and resumed, and ended in order; PostgreSQL is killed and
restarted; connections are cut. The wall clocks of four schedulers are wrong by up to five minutes. The events
that start jobs are read by the consumers of the sentinels, and once more by one of the scenario's own.

Afterwards every occurrence was fired exactly once, by count and by id, in order, and started one job.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import asyncpg

from shoal.ledger.connection import BROKEN, UNREACHABLE, connect
from tests.scenarios.checks import trouble_in_logs, trouble_in_postgres_log
from tests.scenarios.scheduler_cluster import (
    CLOCKS_OFF_BY_S,
    SchedulerCluster,
    SchedulerProcess,
    scheduler_cluster_in,
)
from tests.scenarios.strikes import Verdict

LEASE_S = 2.0
NEW_LEADER_S = 20.0
END_S = 240.0
READ_AGAIN_S = 0.3

ADD = """
INSERT INTO schedule_t (host_id, schedule_name, frequency_unit, frequency_time, start_ts, next_run_ts, end_ts,
                        event_type, event_topic, event_data, missed_runs, missed_limit)
SELECT gen_random_uuid(), 'beat ' || n, 'SECONDS', 1, $3::timestamptz, $3::timestamptz,
       $3::timestamptz + ($2 - 1) * interval '1 s',
       CASE WHEN n <= $4 THEN 'job.start' ELSE 'user.beat' END, 'beats',
       CASE WHEN n <= $4 THEN '{"type": "beat"}' ELSE '{"n": ' || n || '}' END, 'all', 1000
  FROM generate_series(1, $1::int) n
"""
RUNS = "SELECT count(*) FROM schedule_fires"
OPEN = "SELECT count(*) FROM schedule_t WHERE active"
UNREAD = """
SELECT count(*) FROM schedule_fires f JOIN schedule_t s USING (schedule_id)
 WHERE s.event_type = 'job.start' AND f.outcome IS NULL
"""
FIRED_LATELY = """
SELECT f.event_id FROM schedule_fires f JOIN schedule_t s USING (schedule_id)
 WHERE s.event_type = 'job.start' AND f.fired_at > clock_timestamp() - interval '1 s'
"""
START_JOB = "SELECT shoal.start_scheduled_job($1)"
LATENESS = """
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY late) AS p50, max(late) AS most
  FROM (SELECT extract(epoch FROM fired_at - fire_ts)::float AS late FROM schedule_fires) l
"""

ASKED = "WITH asked AS (SELECT $1::int AS runs, $2::timestamptz AS first) "
# Each returns what is wrong, one line each; it must return nothing.
NOTHING_OF_THIS = {
    "a schedule did not run as often as it should": """
        SELECT s.schedule_name || ' ' || count(f.*)
          FROM schedule_t s LEFT JOIN schedule_fires f USING (schedule_id) CROSS JOIN asked a
         GROUP BY s.schedule_id, a.runs HAVING count(f.*) <> a.runs""",
    "a run is of a moment that is no occurrence": """
        SELECT f.schedule_id || ' ' || f.fire_ts FROM schedule_fires f, asked a
         WHERE f.fire_ts <> a.first + round(extract(epoch FROM f.fire_ts - a.first)) * interval '1 s'
            OR f.fire_ts NOT BETWEEN a.first AND a.first + (a.runs - 1) * interval '1 s'""",
    "a schedule counted other runs than it has, or has not ended": """
        SELECT s.schedule_name || ' ' || s.runs || ' ' || coalesce(s.error, '') FROM schedule_t s, asked a
         WHERE s.runs <> a.runs OR s.ended_at IS NULL OR s.error IS NOT NULL""",
    "a run has no event, or not its own": """
        SELECT f.schedule_id || ' ' || f.fire_ts FROM schedule_fires f
          LEFT JOIN event_store_t e ON e.event_id = f.event_id AND e.aggregate_id = f.schedule_id::text
               AND (e.payload ->> 'fireTs')::timestamptz = f.fire_ts
         WHERE e.event_id IS NULL OR f.event_id <> shoal.run_event_id(f.schedule_id, f.fire_ts, f.kind)""",
    "an event has no run": """
        SELECT e.event_id::text FROM event_store_t e LEFT JOIN schedule_fires f ON f.event_id = e.event_id
         WHERE e.event_type IN ('user.beat', 'job.start') AND f.event_id IS NULL""",
    "the events of a schedule are out of order": """
        SELECT aggregate_id FROM (
          SELECT aggregate_id, payload ->> 'fireTs' AS this,
                 lag(payload ->> 'fireTs') OVER (PARTITION BY aggregate_id ORDER BY tx, seq) AS before
            FROM event_store_t WHERE event_type IN ('user.beat', 'job.start')) o
         WHERE this <= before""",
    "a run did not start one job of its owner": """
        SELECT f.schedule_id || ' ' || f.fire_ts || ' ' || coalesce(f.outcome, 'nothing')
          FROM schedule_fires f JOIN schedule_t s USING (schedule_id) LEFT JOIN jobs j ON j.id = f.job_id
         WHERE s.event_type = 'job.start'
           AND (f.outcome IS DISTINCT FROM 'started' OR j.user_id IS DISTINCT FROM s.host_id)""",
    "a job belongs to no run, or to several": """
        SELECT j.id::text FROM jobs j LEFT JOIN schedule_fires f ON f.job_id = j.id
         GROUP BY j.id HAVING count(f.*) <> 1""",
}
SHOWN = 3


@dataclass(frozen=True)
class Load:
    schedules: int
    runs: int
    starting_jobs: int


FULL = Load(schedules=2000, runs=60, starting_jobs=40)
SMALL = Load(schedules=50, runs=20, starting_jobs=10)

Strike = Callable[[SchedulerCluster, SchedulerProcess], Awaitable[None]]


async def run(folder: Path, verdict: Verdict, *, load: Load = FULL) -> None:
    chance = random.Random(verdict.seed)  # noqa: S311 - it must be repeatable
    async with scheduler_cluster_in(folder, lease_s=LEASE_S) as cluster:
        clocks = ", ".join(f"{seconds:+d} s" for seconds in CLOCKS_OFF_BY_S)
        verdict.note(
            f"wall clocks off by {clocks}" if cluster.clocks_are_off else "no libfaketime: clocks are right"
        )
        await cluster.ledger.rows("SELECT shoal.register_job_type('beat', '1', '{}', '[]')")
        (first,) = (
            await cluster.ledger.rows("SELECT date_trunc('second', clock_timestamp()) + interval '4 s'")
        )[0]
        await cluster.ledger.rows(ADD, load.schedules, load.runs, first, load.starting_jobs)
        began = time.monotonic()
        consumer = asyncio.create_task(consume(cluster.url))
        try:
            await strike(cluster, faults(chance, small=load is not FULL), verdict, load)
            ended = await cluster.ledger.until(lambda: nothing_is_left(cluster), within_s=END_S)
        finally:
            consumer.cancel()
            await asyncio.gather(consumer, return_exceptions=True)
        await note_what_was_done(cluster, verdict, time.monotonic() - began)
        if not ended:
            verdict.complaints.append("the schedules did not end in time")
        verdict.complaints += await wrong_in_ledger(cluster, load, first)
        verdict.complaints += await cluster.stop()
        verdict.complaints += trouble_in_postgres_log(cluster.directory.logs / "postgres.log")
        verdict.complaints += trouble_in_logs([one.log_file for one in cluster.schedulers])
    verdict.require_a_hit()


def faults(chance: random.Random, *, small: bool) -> list[tuple[str, Strike]]:
    """In an order the seed chooses."""
    chosen: list[tuple[str, Strike]] = [
        ("kill -9 of the leader", kill_leader),
        ("pause of the leader past its lease", pause_leader),
        ("orderly end of the leader", end_leader),
        ("fast restart of PostgreSQL", restart_postgres),
    ]
    if not small:
        chosen += [
            ("kill -9 of the leader", kill_leader),
            ("pause of the leader past its lease", pause_leader),
            ("kill -9 of PostgreSQL", kill_postgres),
            ("end of all connections", cut_connections),
        ]
    chance.shuffle(chosen)
    return chosen


async def strike(
    cluster: SchedulerCluster, chosen: Sequence[tuple[str, Strike]], verdict: Verdict, load: Load
) -> None:
    """One after the other, each when its share of the runs has been fired."""
    everything = load.schedules * load.runs
    for number, (name, fault) in enumerate(chosen, start=1):
        mark = everything * (number - 0.5) * 0.9 / len(chosen)

        async def reached(mark: float = mark) -> bool:
            return await cluster.ledger.number(RUNS) >= mark

        if not await cluster.ledger.until(reached, within_s=END_S):
            verdict.complaints.append(f"the schedules stopped before fault {number} ({name})")
            return
        leader = await known_leader(cluster)
        before = await cluster.ledger.number(RUNS)
        struck = time.monotonic()
        await fault(cluster, leader)

        async def goes_on(before: int = before) -> bool:
            return await cluster.ledger.number(RUNS) >= min(before + load.schedules // 2, everything)

        going = await cluster.ledger.until(goes_on, within_s=NEW_LEADER_S * 2)
        verdict.caught[f"{number} {name}"] = everything - before
        verdict.note(
            f"fault {number}: {name} ({leader.name}) after {before} of {everything} runs; "
            f"fired on within {time.monotonic() - struck:.1f} s"
        )
        if not going:
            verdict.complaints.append(f"nothing was fired after fault {number} ({name})")


async def known_leader(cluster: SchedulerCluster) -> SchedulerProcess:
    return await next_leader(cluster, None)


async def next_leader(cluster: SchedulerCluster, old: SchedulerProcess | None) -> SchedulerProcess:
    """Whoever leads once it is somebody else."""
    found: list[SchedulerProcess] = []

    async def another_leads() -> bool:
        leader = await cluster.leader()
        if leader is not None and leader is not old:
            found.append(leader)
        return bool(found)

    if not await cluster.ledger.until(another_leads, within_s=NEW_LEADER_S):
        raise AssertionError(f"nobody else leads after {NEW_LEADER_S:.0f} s")
    return found[0]


async def kill_leader(cluster: SchedulerCluster, leader: SchedulerProcess) -> None:
    await leader.kill_group()
    await next_leader(cluster, leader)
    await leader.start()


async def pause_leader(cluster: SchedulerCluster, leader: SchedulerProcess) -> None:
    """It wakes up while another one leads, in the middle of whatever it was at."""
    leader.pause()
    await next_leader(cluster, leader)
    await asyncio.sleep(LEASE_S / 2)
    leader.resume()


async def end_leader(cluster: SchedulerCluster, leader: SchedulerProcess) -> None:
    await leader.stop()
    leader.exit_codes.clear()
    await leader.start()


async def restart_postgres(cluster: SchedulerCluster, _: SchedulerProcess) -> None:
    cluster.postgres.shut_down_fast()


async def kill_postgres(cluster: SchedulerCluster, _: SchedulerProcess) -> None:
    cluster.postgres.kill()


async def cut_connections(cluster: SchedulerCluster, _: SchedulerProcess) -> None:
    await cluster.ledger.cut_all_connections()


async def consume(url: str) -> None:
    """Read the events that start jobs as an outbox delivers them: also a second time, and beside others."""
    while True:
        with suppress(*UNREACHABLE, *BROKEN, asyncpg.TransactionRollbackError):
            connection = await connect(url, application="scenario consumer")
            try:
                while True:
                    for row in await connection.fetch(FIRED_LATELY):
                        await connection.execute(START_JOB, row["event_id"])
                    await asyncio.sleep(READ_AGAIN_S)
            finally:
                connection.terminate()
        await asyncio.sleep(READ_AGAIN_S)


async def nothing_is_left(cluster: SchedulerCluster) -> bool:
    return await cluster.ledger.number(OPEN) == 0 and await cluster.ledger.number(UNREAD) == 0


async def note_what_was_done(cluster: SchedulerCluster, verdict: Verdict, seconds: float) -> None:
    (late,) = await cluster.ledger.rows(LATENESS)
    runs = await cluster.ledger.number(RUNS)
    jobs = await cluster.ledger.number("SELECT count(*) FROM jobs")
    verdict.note(
        f"{runs} runs and {jobs} jobs in {seconds:.0f} s; late by {late['p50'] or 0:.2f} s at the median, "
        f"{late['most'] or 0:.1f} s at most"
    )


async def wrong_in_ledger(cluster: SchedulerCluster, load: Load, first: datetime) -> list[str]:
    complaints = []
    for what, question in NOTHING_OF_THIS.items():
        found = [str(row[0]) for row in await cluster.ledger.rows(ASKED + question, load.runs, first)]
        if found:
            complaints.append(f"{what}: {len(found)}, such as {'; '.join(found[:SHOWN])}")
    expected = {
        RUNS: load.schedules * load.runs,
        "SELECT count(DISTINCT event_id) FROM schedule_fires": load.schedules * load.runs,
        "SELECT count(*) FROM jobs": load.starting_jobs * load.runs,
    }
    for question, right in expected.items():
        if (counted := await cluster.ledger.number(question)) != right:
            complaints.append(f"{question}: {counted}, not {right}")
    return complaints
