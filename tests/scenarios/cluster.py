"""A cluster of real processes on one data directory, as sentences: ``await cluster.worker(2).kill()``."""

import asyncio
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import psutil

from shoal.local.directory import DataDirectory
from shoal.local.postgres import EmbeddedPostgres
from shoal.local.processes import processes_in
from shoal.local.servers import servers_of
from tests.scenarios.ledger_view import LedgerView
from tests.scenarios.processes import Launched, gone, kill_all


class Up(Launched):
    """``shoal up``, and the worker processes it keeps."""

    url = ""

    async def start(self, *more: str) -> str:
        line = await super().start(*more)
        self.url = line.removeprefix("ready at ")
        return line

    def workers(self) -> list[psutil.Process]:
        return [
            child
            for child in psutil.Process(self.pid).children(recursive=True)
            if {"worker", "run"} <= set(child.cmdline())
        ]

    async def restart(self) -> None:
        if self.is_alive:
            await self.stop()
        await self.start()


class Worker(Launched):
    """``shoal worker run`` as a process of its own; every start has a name of its own in the ledger."""

    def __init__(
        self, name: str, arguments: list[str], *, log_file: Path, environment: Mapping[str, str]
    ) -> None:
        super().__init__(arguments, log_file=log_file, environment=environment, ready=b"ready")
        self._name = name
        self._starts = 0

    @property
    def id(self) -> str:
        return f"{self._name}-{self._starts}"

    async def start(self, *more: str) -> str:
        self._starts += 1
        return await super().start("--set", f"worker_id={self.id}", *more)

    async def kill(self) -> None:
        await self.kill_group()

    def pause(self) -> None:
        self.signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.signal(signal.SIGCONT)


class EmbeddedServerView:
    """The PostgreSQL or Valkey of an ``up``, found by the directory it works in."""

    def __init__(self, home: Path, *names: str) -> None:
        self._home = home
        self._names = names

    def process(self) -> psutil.Process | None:
        """The server itself. What it forked has other titles, and may outlive it for a moment."""
        for process in processes_in(self._home, self._names):
            with suppress(psutil.NoSuchProcess):
                if any(str(self._home) == argument for argument in process.cmdline()):
                    return process
        return None

    def kill(self) -> None:
        self._send(signal.SIGKILL)

    def shut_down_fast(self) -> None:
        """What ``pg_ctl stop -m fast`` does: sessions are ended, everything is written down."""
        self._send(signal.SIGINT)

    def _send(self, number: signal.Signals) -> None:
        process = self.process()
        assert process is not None, f"no {self._names[0]} runs in {self._home}"
        process.send_signal(number)


class Cluster:
    def __init__(
        self, folder: Path, *, app: str, workers: int, settings: Mapping[str, object], apart: bool
    ) -> None:
        """``apart`` workers are processes of the scenario's own; the others belong to ``up``."""
        self.folder = folder
        self.directory = DataDirectory(folder / "data")
        postgres, _ = servers_of(self.directory)
        self.ledger = LedgerView(postgres.url_of("shoal"))
        self.postgres = EmbeddedServerView(postgres.working_directory, *EmbeddedPostgres.processes)
        self.valkey = EmbeddedServerView(self.directory.valkey, "valkey-server", "redis-server")
        self.executions = folder / "executions"
        self.executions.mkdir()
        self.up_log = folder / "up.log"
        temporary = folder / "tmp"  # the working folders of killed tasks go with the scenario's own
        temporary.mkdir()
        environment = {
            "SCENARIO_EXECUTIONS": str(self.executions),
            "SHOAL_LOG_FORMAT": "json",
            "TMPDIR": str(temporary),
        }
        given = ["--data-dir", str(self.directory.path)]
        for name, value in settings.items():
            given += ["--set", f"{name}={value}"]
        crew = [] if apart else ["--app", app, "--workers", str(workers)]
        self.up = Up(
            ["up", "--port", "0", *given, *crew],
            log_file=self.up_log,
            environment=environment,
            ready=b"ready at",
        )
        self.workers = [
            Worker(
                f"worker-{number}",
                ["worker", "run", app, *given],
                log_file=folder / f"worker-{number}.log",
                environment=environment,
            )
            for number in range(1, workers + 1 if apart else 1)
        ]

    def worker(self, number: int) -> Worker:
        """The first is number 1."""
        return self.workers[number - 1]

    def fallen(self) -> list[str]:
        """Who of those that should run has ended by itself."""
        own = [worker.id for worker in self.workers if not worker.is_alive]
        return own if self.up.is_alive else ["up", *own]

    async def start(self) -> None:
        await self.up.start()
        await asyncio.gather(*(worker.start() for worker in self.workers))

    async def stop(self) -> list[str]:
        """End everything in order; returns what did not end as it should."""
        complaints = []
        for name, process in [*((worker.id, worker) for worker in self.workers), ("up", self.up)]:
            if not process.is_alive:
                complaints.append(f"{name} ended by itself, saying: {process.last_words()}")
            elif code := await process.stop():
                complaints.append(f"{name} ended with code {code} when told to stop")
        complaints += [f"left running: {one}" for one in await gone(self.directory.path, within_s=5)]
        return complaints


@asynccontextmanager
async def cluster_in(
    folder: Path, *, app: str, workers: int, apart: bool, **settings: object
) -> AsyncIterator[Cluster]:
    """A started cluster of which no process outlives the block."""
    cluster = Cluster(folder, app=app, workers=workers, settings=settings, apart=apart)
    try:
        await cluster.start()
        await cluster.ledger.install_witness()
        yield cluster
    finally:
        await cluster.ledger.close()
        kill_all(cluster.directory.path)
        for process in (cluster.up, *cluster.workers):
            await process.ended()
