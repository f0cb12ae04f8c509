"""Fire everything, repeatedly, on every side in turn; then fire at a steady pace and look how late it is."""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import asyncpg
from prometheus_client import CollectorRegistry

from bench.harness.peers import installed_peers
from bench.harness.samples import Samples
from bench.harness.servers import bench_folder, embedded_postgres
from bench.harness.table import say, say_ratio, say_samples, say_settings
from shoal.ledger.connection import connect
from shoal.ledger.listener import Listener
from shoal.ledger.migrate import migrate
from shoal.ledger.pool import Ledger
from shoal.ledger.settings import LedgerSettings
from shoal.runtime.lifecycle import Part
from shoal.schedules.leader import Leadership
from shoal.schedules.measures import SchedulerMeasures
from shoal.schedules.scheduler import Scheduler
from shoal.schedules.settings import ScheduleSettings

HERE = Path(__file__).parent
FILL, FILL_SPREAD, BARE = (
    (HERE / name).read_text(encoding="utf-8") for name in ("fill.sql", "fill_spread.sql", "bare.sql")
)
CRON = "30 9 * * 1-5"
IS_DUE = """
SELECT EXISTS (SELECT FROM schedule_t WHERE active AND next_run_ts <= $1::timestamptz
                ORDER BY next_run_ts LIMIT 1)
"""
FIRED = "SELECT count(*) FROM schedule_fires"
IS_FIRED = "SELECT EXISTS (SELECT FROM schedule_fires)"
LATENESS = """
SELECT percentile_cont($1::float[]) WITHIN GROUP (ORDER BY extract(epoch FROM fired_at - fire_ts)::float)
  FROM schedule_fires
"""
EMPTY = "TRUNCATE schedule_t, schedule_fires, event_store_t, outbox_message_t"
LOOK_EVERY_S = 0.05
PATIENCE_S = 300.0
SPREAD = 10_000
WARM_UP_S = 3.0
GOALS = {"fires_vs_apscheduler": ">= 20", "fires_vs_insert_select": ">= 0.3", "lateness_p99_s": "<= 1"}


@dataclass(frozen=True)
class Extent:
    repetitions: int
    schedules: int
    due_for_apscheduler: int
    lateness_s: float


FULL = Extent(3, 100_000, 2_000, 30.0)
QUICK = Extent(1, 40_000, 1_000, 10.0)


def measure(*, quick: bool) -> dict[str, float]:
    with bench_folder() as folder:
        return asyncio.run(_measure(folder, QUICK if quick else FULL))


async def _measure(folder: Path, extent: Extent) -> dict[str, float]:
    async with embedded_postgres(folder) as postgres:
        url = postgres.url_of("shoal")
        connection = await connect(url, application="bench")
        try:
            await migrate(connection)
            return await _compare(url, connection, extent)
        finally:
            await connection.close()


async def _compare(url: str, connection: "asyncpg.Connection[Any]", extent: Extent) -> dict[str, float]:
    say_settings({"schedules in the table": extent.schedules, "goals": GOALS})
    intervals, crons, bare, peer = [], [], [], []
    for _ in range(extent.repetitions):
        intervals.append(await fire_all(url, connection, extent.schedules, None))
        bare.append(await insert_select(connection, extent.schedules))
        crons.append(await fire_all(url, connection, extent.schedules, CRON))
        if rate := apscheduler_rate(url, extent):
            peer.append(rate)
        await connection.execute("DROP TABLE IF EXISTS apscheduler_jobs")
    p50, p99, most = await lateness(url, connection, extent.lateness_s)
    ours, reference = Samples(intervals), Samples(bare)
    rows = [
        ("Shoal, intervals", ours, "runs/s"),
        ("Shoal, cron in five zones", Samples(crons), "runs/s"),
        ("INSERT ... SELECT", reference, "runs/s"),
        ("lateness at 1,000 runs/s, p50", Samples([p50]), "s"),
        ("lateness at 1,000 runs/s, p99", Samples([p99]), "s"),
        ("lateness at 1,000 runs/s, most", Samples([most]), "s"),
    ]
    figures = {"fires_per_s": ours.figure, "cron_fires_per_s": Samples(crons).figure, "lateness_p99_s": p99}
    if peer:
        rows.append(("APScheduler", Samples(peer), "runs/s"))
    say_samples(rows)
    figures["fires_vs_insert_select"] = say_ratio(
        "fires_vs_insert_select", ("Shoal", ours), ("INSERT ... SELECT", reference)
    )
    if peer:
        figures["fires_vs_apscheduler"] = say_ratio(
            "fires_vs_apscheduler", ("Shoal", ours), ("APScheduler", Samples(peer))
        )
    return figures


async def fire_all(
    url: str, connection: "asyncpg.Connection[Any]", schedules: int, cron: str | None
) -> float:
    """All are due when the scheduler starts. Timed from its first run to its last, as the ledger has them."""
    await connection.execute(EMPTY)
    await connection.execute(FILL, schedules, cron, timedelta(0))
    await connection.execute("VACUUM ANALYZE schedule_t")
    await connection.execute("CHECKPOINT")
    now = await connection.fetchval("SELECT clock_timestamp()")
    async with scheduling(url):
        while not await connection.fetchval(IS_FIRED):  # noqa: ASYNC110 - rows have no event
            await asyncio.sleep(LOOK_EVERY_S)
        began, before = time.monotonic(), int(await connection.fetchval(FIRED))
        while await connection.fetchval(IS_DUE, now):
            if time.monotonic() - began > PATIENCE_S:
                raise RuntimeError(f"not all were fired after {PATIENCE_S:.0f} s")
            await asyncio.sleep(LOOK_EVERY_S)
        seconds = time.monotonic() - began
        fired = int(await connection.fetchval(FIRED))
    if fired != schedules:
        raise RuntimeError(f"{fired} runs of {schedules} schedules")
    return (fired - before) / seconds


async def insert_select(connection: "asyncpg.Connection[Any]", schedules: int) -> float:
    """On the table as firing left it, with the runs taken away."""
    await connection.execute("TRUNCATE schedule_fires, event_store_t, outbox_message_t")
    await connection.execute("CHECKPOINT")
    began = time.monotonic()
    await connection.execute(BARE)
    return schedules / (time.monotonic() - began)


def apscheduler_rate(url: str, extent: Extent) -> float | None:
    python = installed_peers().get("apscheduler")
    if python is None:
        return None
    address = url.replace("postgresql://", "postgresql+psycopg://", 1)
    command = [python, str(HERE / "apscheduler_side.py"), address]
    done = subprocess.run(
        [*command, str(extent.schedules), str(extent.due_for_apscheduler)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.stderr.write(done.stderr[-2000:])
        return None
    rate: float = json.loads(done.stdout.splitlines()[-1])["runs_per_s"]
    return rate


async def lateness(
    url: str, connection: "asyncpg.Connection[Any]", seconds: float
) -> tuple[float, float, float]:
    await connection.execute(EMPTY)
    async with scheduling(url):
        await connection.execute(FILL_SPREAD, SPREAD)
        await connection.execute("ANALYZE schedule_t")
        await asyncio.sleep(WARM_UP_S + seconds)
    fired = int(await connection.fetchval(FIRED))
    p50, p99, most = await connection.fetchval(LATENESS, [0.5, 0.99, 1.0])
    say(f"{fired} runs in {seconds:.0f} s at 1,000 a second")
    return p50, p99, most


@asynccontextmanager
async def scheduling(url: str) -> AsyncIterator[None]:
    """The parts a sentinel runs for its schedules."""
    settings, own = LedgerSettings(database_url=url), ScheduleSettings()
    ledger, listener = Ledger(settings), Listener(settings)
    leadership = Leadership(settings, lease_s=own.scheduler_lease_s)
    scheduler = Scheduler(
        ledger,
        leadership,
        listener,
        measures=SchedulerMeasures(CollectorRegistry()),
        batch=own.scheduler_batch,
        keep_runs=None,
    )
    parts: list[Part] = [ledger, listener, leadership, scheduler]
    for part in parts:
        await part.start()
    running = [asyncio.create_task(part.run()) for part in parts]
    try:
        yield
    finally:
        for part, task in zip(reversed(parts), reversed(running), strict=True):
            await part.stop()
            await task
