"""Data directories that clean up after themselves, and an `up` that can be killed."""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import psutil
import pytest
import redis.asyncio

from shoal.local.directory import DataDirectory
from shoal.local.processes import processes_in
from shoal.local.servers import servers_of

UP = """
import asyncio, json, sys
from pathlib import Path
from shoal.local.directory import DataDirectory
from shoal.local.servers import servers_of
from shoal.runtime.logs import LogSettings, configure_logs

async def up():
    configure_logs(LogSettings())
    directory = DataDirectory.prepare(Path(sys.argv[1]))
    hold = directory.hold(url="http://127.0.0.1:7777")
    servers = servers_of(directory)
    for server in servers:
        await server.start()
    print(json.dumps([server.pid for server in servers]), flush=True)
    await asyncio.Event().wait()

asyncio.run(up())
"""


@dataclass
class Up:
    """A process that does what `shoal up` does with local/."""

    process: asyncio.subprocess.Process
    postgres_pid: int
    valkey_pid: int

    async def kill(self, *, with_servers: bool = False) -> None:
        """kill -9: of the process alone, or of everything at once."""
        victims = [psutil.Process(self.process.pid)]
        if with_servers:
            for pid in (self.postgres_pid, self.valkey_pid):
                victims += [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
        for victim in victims:
            with contextlib.suppress(psutil.NoSuchProcess):
                victim.send_signal(signal.SIGKILL)
        await self.process.wait()


@dataclass
class Running:
    """Both servers of a directory, started here, with a connection to each."""

    directory: DataDirectory
    postgres_pid: int
    valkey_pid: int
    sql: "asyncpg.Connection[asyncpg.Record]"
    brain: redis.asyncio.Redis


def kill_servers(directory: DataDirectory) -> None:
    for home in (directory.postgres / "data", directory.valkey):
        for process in processes_in(home, ("postgres", "valkey-server", "redis-server")):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()


def roomy_memory() -> str | None:
    """A file system in memory: a database is a thousand files, and disks can be slow to make them.

    None, for the usual place, where there is none or where it is small, as in a container.
    """
    memory = Path("/dev/shm")  # noqa: S108 - only directories with random names are made in it
    roomy = memory.is_dir() and shutil.disk_usage(memory).free > 2**31
    return str(memory) if roomy and os.access(memory, os.W_OK) else None


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """Instead of pytest's own: short enough for sockets, and gone after the test (40 MB each)."""
    with tempfile.TemporaryDirectory(prefix="shoal-t-", dir=roomy_memory()) as place:
        yield Path(place)


@pytest.fixture(scope="session")
def templates() -> Iterator[Path]:
    """Where those directories are that tests only copy."""
    with tempfile.TemporaryDirectory(prefix="shoal-t-", dir=roomy_memory()) as place:
        yield Path(place)


@pytest.fixture(scope="session")
def template(templates: Path) -> Path:
    """A data directory in which both servers ran once and stopped: cheaper to copy than to make."""
    directory = DataDirectory.prepare(templates / "data")

    async def make() -> None:
        servers = servers_of(directory)
        try:
            for server in servers:
                await server.start()
        finally:
            for server in servers:
                await server.stop()

    asyncio.run(make())
    return directory.path


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[DataDirectory]:
    """A data directory that does not exist yet."""
    directory = DataDirectory(tmp_path / "data")
    yield directory
    kill_servers(directory)


@pytest.fixture
def directory(empty: DataDirectory, template: Path) -> DataDirectory:
    """A data directory that was used before."""
    shutil.copytree(template, empty.path)
    return DataDirectory.prepare(empty.path)


@pytest.fixture
def eventually() -> Callable[[Callable[[], Awaitable[object]]], Awaitable[None]]:
    """Wait until the condition holds; fail after 20 s."""

    async def wait(condition: Callable[[], Awaitable[object]]) -> None:
        async with asyncio.timeout(20):
            while not await condition():  # noqa: ASYNC110 - what is waited for sends no event
                await asyncio.sleep(0.01)

    return wait


@pytest.fixture
async def up() -> AsyncIterator[Callable[[DataDirectory], Awaitable[Up]]]:
    started: list[asyncio.subprocess.Process] = []

    async def start(directory: DataDirectory) -> Up:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", UP, str(directory.path)),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        started.append(process)
        assert process.stdout is not None
        postgres_pid, valkey_pid = json.loads(await process.stdout.readline())
        return Up(process, postgres_pid, valkey_pid)

    yield start
    for process in started:
        if process.returncode is None:
            process.kill()
        await process.wait()


@pytest.fixture
def running() -> Callable[[DataDirectory], contextlib.AbstractAsyncContextManager[Running]]:
    @contextlib.asynccontextmanager
    async def start(directory: DataDirectory) -> AsyncIterator[Running]:
        postgres, valkey = servers_of(directory)
        try:
            await postgres.start()
            await valkey.start()
            assert postgres.pid
            assert valkey.pid
            sql = await asyncpg.connect(postgres.url)
            brain = redis.asyncio.from_url(valkey.url)
            try:
                yield Running(directory, postgres.pid, valkey.pid, sql, brain)
            finally:
                await sql.close()
                await brain.aclose()
        finally:
            await valkey.stop()
            await postgres.stop()

    return start


async def run_in_own_mounts(options: list[str], mounting: str, python: str, cwd: Path) -> str:
    process = await asyncio.create_subprocess_exec(
        *("unshare", *options, "--mount", "sh", "-ec"),
        f'{mounting}\nexec "$PYTHON" -c "$CODE"',
        cwd=cwd,
        env={**os.environ, "PYTHON": sys.executable, "CODE": python},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()
    return output.decode()


@pytest.fixture
def in_own_mounts(tmp_path: Path) -> Callable[[str, str], Awaitable[str]]:
    """Run a shell line, then Python, where file systems can be mounted and nobody else sees them.

    With a user namespace, so that ordinary users may do it, too.
    """
    return lambda mounting, python: run_in_own_mounts(["--map-root-user"], mounting, python, tmp_path)


@pytest.fixture
def in_own_mounts_of_root(tmp_path: Path) -> Callable[[str, str], Awaitable[str]]:
    """The same as root for real, who can become somebody else."""
    return lambda mounting, python: run_in_own_mounts([], mounting, python, tmp_path)


@pytest.fixture
def open_place() -> Iterator[Path]:
    """A directory that everybody can walk to, which pytest's own are not."""
    with tempfile.TemporaryDirectory(prefix="shoal-t-", dir=roomy_memory()) as place:
        Path(place).chmod(0o755)
        yield Path(place)
