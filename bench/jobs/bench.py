"""Drains, bulk enqueues and pick-ups of every side in turn, and what two more tables do to Shoal."""

import asyncio
import sys
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import asyncpg

from bench.harness.database import bare_sql_rows_per_s
from bench.harness.peers import installed_peers
from bench.harness.samples import Samples
from bench.harness.servers import bench_folder, embedded_postgres
from bench.harness.table import say, say_ratio, say_samples, say_settings
from bench.jobs.side import US, Drained, Sheet, Side, read_sheets
from bench.jobs.verdicts import Contest

FILL_FINISHED = Path(__file__).with_name("fill_finished.sql").read_text(encoding="utf-8")
FINISHED_AT_ONCE = 100_000
PROCESSES = (1, 2)
LEAST_TASKS = 500
GOALS = {
    "drain_vs_best_peer": ">= 1.2",
    "enqueue_vs_best_peer": ">= 1.5",
    "pickup_p50_vs_best_peer": "<= 1.0",
    "one_big_job_vs_many": ">= 0.8",
    "full_table_vs_empty": ">= 0.9",
}


@dataclass(frozen=True)
class Extent:
    """How much is measured. ``tasks`` are those of a drain of the fastest sides."""

    repetitions: int
    tasks: int
    pickups: int
    reference_rows: int
    big_job: int
    small_job: int
    finished: int


FULL = Extent(3, 100_000, 300, 100_000, 100_000, 100, 1_000_000)
QUICK = Extent(1, 40_000, 100, 30_000, 40_000, 100, 100_000)


class Measurements:
    """What each side did, by its name."""

    def __init__(self) -> None:
        self.reference: list[float] = []
        self.enqueues: dict[str, list[float]] = {}
        self.drains: dict[tuple[str, int], list[float]] = {}
        self.pickups: dict[str, list[list[float]]] = {}

    def add_drain(self, name: str, processes: int, drained: Drained) -> None:
        self.enqueues.setdefault(name, []).append(drained.enqueue)
        self.drains.setdefault((name, processes), []).append(drained.drain)

    def best_drain(self, name: str) -> float:
        return max(median(self.drains[name, processes]) for processes in PROCESSES)

    def enqueue(self, name: str) -> float:
        return median(self.enqueues[name])

    def pickup(self, name: str) -> float:
        return median(median(run) for run in self.pickups[name])


def measure(*, quick: bool) -> dict[str, float]:
    return asyncio.run(Bench(QUICK if quick else FULL).run())


class Bench:
    def __init__(self, extent: Extent) -> None:
        self._extent = extent
        self._known_reference, sheets = read_sheets()
        homes = {US: sys.executable, **installed_peers()}
        self._sheets = {name: sheet for name, sheet in sheets.items() if name in homes}
        self._homes = homes
        self._missing = sorted(sheets.keys() - homes.keys())
        self._seen = Measurements()
        self._figures: dict[str, float] = {}

    async def run(self) -> dict[str, float]:
        self._say_settings()
        with bench_folder() as folder:
            async with embedded_postgres(folder) as postgres, AsyncExitStack() as stack:
                self._url = postgres.url
                sides = [await self._open(sheet, name, stack) for name, sheet in self._sheets.items()]
                for repetition in range(self._extent.repetitions):
                    turn = repetition % len(sides)
                    await self._one_round([*sides[turn:], *sides[:turn]])
                self._say_contests()
                await self._compare_job_sizes(sides[0])
                await self._compare_tables(sides[0], stack)
        return self._figures

    async def _open(self, sheet: Sheet, database: str, stack: AsyncExitStack) -> Side:
        connection = await asyncpg.connect(self._url)
        await connection.execute(f'CREATE DATABASE "bench-{database}"')
        await connection.close()
        url = self._url.replace("/shoal?", f"/bench-{database}?")
        home = self._homes[sheet.name]
        return await Side.open(sheet, home, url, processes=max(PROCESSES), stack=stack)

    async def _one_round(self, sides: list[Side]) -> None:
        rows = self._extent.reference_rows
        reference = await bare_sql_rows_per_s(self._url, rows=rows, repetitions=1)
        self._seen.reference.append(reference.median)
        for processes in PROCESSES:
            for side in sides:
                count = max(int(self._extent.tasks * side.sheet.weight), LEAST_TASKS)
                drained = await side.drain(count, processes)
                self._seen.add_drain(side.sheet.name, processes, drained)
        for side in sides:
            latencies = await side.pickup(self._extent.pickups)
            self._seen.pickups.setdefault(side.sheet.name, []).append(latencies)

    def _say_settings(self) -> None:
        for name, sheet in self._sheets.items():
            say(f"{name}: drain {sheet.drain}, pickup {sheet.pickup}, enqueue {sheet.enqueue}")
        for name in self._missing:
            say(f"{name}: NOT INSTALLED; it is left out")
        say_settings(
            {
                "postgresql": "18, embedded: synchronous_commit and fsync on, one database for each side",
                "a drain": f"{self._extent.tasks:,} no-op tasks (slow peers fewer), "
                "from the first start to none left in the database",
                "goals": ", ".join(f"{name} {goal}" for name, goal in GOALS.items()),
            }
        )

    def _say_contests(self) -> None:
        seen = self._seen
        say_samples(
            [
                ("reference: bare SQL, batches of 1,000", Samples(seen.reference), "rows/s"),
                *((f"enqueue: {name}", Samples(rates), "tasks/s") for name, rates in seen.enqueues.items()),
                *(
                    (f"drain: {name}, {processes} worker(s)", Samples(rates), "tasks/s")
                    for (name, processes), rates in sorted(seen.drains.items())
                ),
                *(
                    (f"pickup {what}: {name}", Samples([share(run) for run in runs]), "ms")
                    for name, runs in seen.pickups.items()
                    for what, share in (("p50", median), ("p99", p99))
                ),
            ]
        )
        scale = median(seen.reference) / self._known_reference
        say(f"peers are judged by their known figures times {scale:.2f}, which is what the reference does")
        known = {name: sheet.known for name, sheet in self._sheets.items() if sheet.known is not None}
        self._figures["reference_rows_per_s"] = Samples(seen.reference).figure
        self._say_contest(
            "drain_vs_best_peer",
            Contest(
                seen.best_drain(US),
                {name: seen.best_drain(name) for name in known},
                {name: of.drain * scale for name, of in known.items()},
            ),
        )
        self._say_contest(
            "enqueue_vs_best_peer",
            Contest(
                seen.enqueue(US),
                {name: seen.enqueue(name) for name in known},
                {name: of.enqueue * scale for name, of in known.items()},
            ),
        )
        self._say_contest(
            "pickup_p50_vs_best_peer",
            Contest(
                seen.pickup(US),
                {name: seen.pickup(name) for name in known},
                {name: of.pickup / scale for name, of in known.items()},
                more_is_better=False,
            ),
        )

    def _say_contest(self, figure: str, contest: Contest) -> None:
        for name in contest.void_peers():
            say(f"VOID: {name} did {contest.peers[name]:,.4g}; {contest.known[name]:,.4g} were expected")
        best, ratio = contest.best_peer(), contest.ratio()
        if best is None or ratio is None:
            say(f"{figure}: not given, there is no valid best peer")
            return
        say(f"{figure}: {ratio:.2f} = Shoal {contest.ours:,.4g} / {best} {contest.peers[best]:,.4g}")
        self._figures[figure] = round(ratio, 3)

    async def _compare_job_sizes(self, shoal: Side) -> None:
        big, small = self._extent.big_job, self._extent.small_job
        rates: dict[int, list[float]] = {big: [], small: []}
        for _ in range(self._extent.repetitions):
            for size, seen in rates.items():
                drained = await shoal.drain(big, 1, {"tasks_a_job": size})
                seen.append(drained.drain)
        self._say_pair(
            "one_big_job_vs_many",
            (f"one job of {big:,}", rates[big]),
            (f"{big // small:,} jobs of {small}", rates[small]),
        )

    async def _compare_tables(self, shoal: Side, stack: AsyncExitStack) -> None:
        kept = replace(self._sheets[US], empty="SELECT 1")
        full = await self._open(kept, "full", stack)
        await fill_with_finished(full.connection, self._extent.finished)
        rates: dict[str, list[float]] = {"full": [], "empty": []}
        for _ in range(self._extent.repetitions):
            for name, side in (("full", full), ("empty", shoal)):
                rates[name].append((await side.drain(self._extent.tasks, 1)).drain)
        self._say_pair(
            "full_table_vs_empty",
            (f"{self._extent.finished:,} finished tasks", rates["full"]),
            ("an empty table", rates["empty"]),
        )

    def _say_pair(self, figure: str, one: tuple[str, list[float]], other: tuple[str, list[float]]) -> None:
        samples = [(name, Samples(rates)) for name, rates in (one, other)]
        say_samples([(f"drain: {name}", of, "tasks/s") for name, of in samples])
        self._figures[figure] = round(say_ratio(figure, *samples), 3)
        say()


async def fill_with_finished(connection: "asyncpg.Connection[Any]", count: int) -> None:
    await connection.execute("SET session_replication_role = replica")  # no trigger counts them again
    for _ in range(count // FINISHED_AT_ONCE):
        await connection.execute(FILL_FINISHED, FINISHED_AT_ONCE // 1000)
    await connection.execute("RESET session_replication_role")


def p99(run: list[float]) -> float:
    return quantiles(run, n=100)[98]
