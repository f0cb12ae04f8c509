"""Shoal: ``create_jobs`` with the graphs worked out, and the worker as ``shoal worker run`` runs it."""

import asyncio
import uuid
from typing import Any

import asyncpg
import uvloop

from bench.jobs.sides.protocol import Runs, Settings, Side, drive
from shoal import App, Context, Graph
from shoal.ledger.connection import connect
from shoal.ledger.migrate import migrate
from shoal.roles.config import Given, read_config
from shoal.roles.worker import worker_parts
from shoal.runtime.lifecycle import run_parts
from shoal.runtime.logs import LogSettings, configure_logs

OWNER = uuid.UUID("00000000-0000-4000-8000-0000000000aa")
CREATE_JOBS = "SELECT public.create_jobs($1, $2)"
GRACE_S = 5.0


class Shoal(Side):
    _connection: "asyncpg.Connection[Any] | None" = None
    _calls: list[list[dict[str, Any]]]

    def __init__(self, url: str, ran: Runs) -> None:
        super().__init__(url, ran)
        configure_logs(LogSettings(log_level="warning"))
        self._app = App()

        async def noop(_: Context) -> None:
            ran()

        self._app.task("noop")(noop)
        self._app.job("bench")(bench)

    async def install(self) -> None:
        await migrate(await self._connected())
        await self.work({})
        await self.rest()

    async def prepare(self, count: int, settings: Settings) -> None:
        size = settings["tasks_a_job"]
        at_once = settings.get("jobs_a_call", 10_000)
        jobs = [job_of(min(size, count - done)) for done in range(0, count, size)]
        self._calls = [jobs[at : at + at_once] for at in range(0, len(jobs), at_once)]
        await self._connected()

    async def enqueue(self) -> None:
        connection = await self._connected()
        for jobs in self._calls:
            await connection.fetchval(CREATE_JOBS, jobs, OWNER)

    async def enqueue_one(self) -> None:
        connection = await self._connected()
        await connection.fetchval(CREATE_JOBS, [job_of(1)], OWNER)

    async def work(self, settings: Settings) -> None:
        await self._connected()
        started = asyncio.Event()
        self._ended = asyncio.Event()
        config = read_config(
            Given(flags={"database_url": self.url, "vault_url": "file:///nonexistent", **settings})
        )
        parts = worker_parts(config, self._app)
        self._working = asyncio.create_task(
            run_parts(parts, grace_s=GRACE_S, until=self._ended, on_started=started.set)
        )
        await started.wait()

    async def rest(self) -> None:
        self._ended.set()
        await self._working

    async def _connected(self) -> "asyncpg.Connection[Any]":
        if self._connection is None:
            self._connection = await connect(self.url, application="bench")
        return self._connection


def bench(_: dict[str, Any]) -> Graph:
    """Never planned: the jobs come with their graphs."""
    return Graph()


def job_of(tasks: int) -> dict[str, Any]:
    """As ``Job.plan`` would write it."""
    entry: dict[str, Any] = {"name": "noop", "task_type": "noop"}
    if tasks > 1:
        entry["each"] = [{}] * tasks
    return {"type": "bench", "graph": {"tasks": [entry]}}


if __name__ == "__main__":
    drive(Shoal, uvloop.new_event_loop)
