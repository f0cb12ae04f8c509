"""The embedded PostgreSQL: one cluster, reached over a socket only, as the user ``postgres``."""

import asyncio
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar
from urllib.parse import quote

import asyncpg

from shoal.local.account import postgres_account
from shoal.local.binaries import postgres_binaries, postgres_major
from shoal.local.processes import Farewell
from shoal.local.server import Answer, EmbeddedServer, environment
from shoal.local.server_log import explain
from shoal.runtime.durable import sync_directory
from shoal.runtime.errors import Invalid, Unavailable

DATABASE = "shoal"
_PORT = 5432
"""Names the socket; nothing listens on a TCP port."""
_GONE = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)
_ANSWER_S = 5.0
_INITDB_S = 120.0

_PARAMETERS: Mapping[str, str] = {
    # Durable: what was committed survives a power cut.
    "fsync": "on",
    "synchronous_commit": "on",
    "wal_level": "replica",  # for pg_basebackup
    "max_wal_senders": "4",
    # Small: it shares a laptop with everything else.
    "shared_buffers": "64MB",
    "max_connections": "200",
    "max_worker_processes": "2",
    "max_parallel_workers_per_gather": "0",
    "max_logical_replication_workers": "0",
    "autovacuum_max_workers": "2",
    "jit": "off",
    # Reached by nobody but us.
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "port": str(_PORT),
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_checkpoints": "off",
}


class EmbeddedPostgres(EmbeddedServer):
    """``parameters`` are PostgreSQL settings that replace or add to ours."""

    name = "postgres"
    title = "PostgreSQL"
    processes = ("postgres",)
    farewell: ClassVar[Farewell] = (
        (signal.SIGINT, 30.0),  # a fast shutdown: ends sessions, writes everything down
        (signal.SIGQUIT, 5.0),  # an immediate one: recovers at the next start
        (signal.SIGKILL, 5.0),
    )

    def __init__(
        self,
        home: Path,
        *,
        sockets: Path,
        log_file: Path,
        binaries: Path | None = None,
        parameters: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(home, sockets=sockets, log_file=log_file)
        self._given_binaries = binaries
        self._parameters = {**_PARAMETERS, "unix_socket_directories": str(sockets)}
        if sys.platform == "linux":
            # After a crash: one call for the file system instead of one for each file.
            self._parameters["recovery_init_sync_method"] = "syncfs"
        self._parameters |= parameters or {}
        self.url = self.url_of(DATABASE)

    def url_of(self, database: str) -> str:
        return f"postgresql://postgres@/{quote(database, safe='')}?host={self._sockets}&port={_PORT}"

    async def copy_to(self, target: Path) -> None:
        """Write a copy of the running cluster, from which another one can start."""
        program = self._binaries / "pg_basebackup"
        command = [str(program), "-D", str(target / self.working_directory.name)]
        # Not synced here: whoever makes a backup of it does that for all files at once.
        command += ["-h", str(self._sockets), "-p", str(_PORT), "-U", "postgres", "--no-sync"]
        command += ["--checkpoint=fast", "--wal-method=stream"]
        copying = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=environment(),
        )
        output, _ = await copying.communicate()
        if copying.returncode != 0:
            raise Unavailable(
                "backup_failed",
                f"PostgreSQL could not be copied: {explain(output.decode(), target.parent)}.",
                hint=f"The server's log is {self._log_file}.",
            )

    @property
    def working_directory(self) -> Path:
        return self.home / "data"

    @property
    def _binaries(self) -> Path:
        return self._given_binaries or postgres_binaries()

    def _command(self) -> list[str]:
        options = [f"--{name}={value}" for name, value in self._parameters.items()]
        return [str(self._binaries / "postgres"), "-D", str(self.working_directory), *options]

    def _prepare(self) -> None:
        self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._account = postgres_account()
        self._account.check_reach(self.home, self._sockets, self._binaries)
        self._account.hand_over(self.home, self._sockets)
        if self.working_directory.exists():
            self._check_version()
        else:
            self._create_cluster()

    def _check_version(self) -> None:
        made_by = _major_of_cluster(self.working_directory)
        installed = postgres_major(self._binaries)
        if made_by != installed:
            raise Invalid(
                "postgres_version_mismatch",
                f"The database in {self.working_directory} was made by PostgreSQL {made_by}, "
                f"and PostgreSQL {installed} is installed.",
                hint=f"Install a release of shoal that brings PostgreSQL {made_by}, or move the "
                "data with pg_upgrade or pg_dump.",
            )

    def _create_cluster(self) -> None:
        """Create the cluster under another name, so that its own name means: it is complete."""
        for cut_short in self.home.glob("new-*"):
            shutil.rmtree(cut_short, ignore_errors=True)
        command = [*self._account.prefix, str(self._binaries / "initdb")]
        command += ["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C"]
        try:
            new = Path(tempfile.mkdtemp(dir=self.home, prefix="new-"))
            self._account.hand_over(new)
            result = subprocess.run(
                [*command, "-D", str(new)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                cwd=self.home,
                env=environment(),
                timeout=_INITDB_S,
                check=False,
                **self._account.identity,
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise self._failure("could not create its files", str(error)) from error
        if result.returncode != 0:
            shutil.rmtree(new, ignore_errors=True)
            output = result.stdout.decode(errors="replace")
            raise self._failure("could not create its files", output)
        new.rename(self.working_directory)
        sync_directory(self.home)

    def _clear_stale(self) -> None:
        # PostgreSQL believes these as long as any process has the pid they name. That no server
        # runs here is known by now, and its shared memory is checked by PostgreSQL itself.
        for left in (
            self.working_directory / "postmaster.pid",
            self._sockets / f".s.PGSQL.{_PORT}.lock",
            self._sockets / f".s.PGSQL.{_PORT}",
        ):
            left.unlink(missing_ok=True)

    async def _ask(self) -> Answer:
        try:
            connection = await asyncpg.connect(self.url_of("postgres"), timeout=_ANSWER_S)
        except asyncpg.CannotConnectNowError:
            return Answer.STARTING
        except (OSError, *_GONE):
            return Answer.NONE
        await connection.close()
        return Answer.READY

    async def _complete(self) -> None:
        connection = await asyncpg.connect(self.url_of("postgres"), timeout=_ANSWER_S)
        try:
            if not await connection.fetchval(
                "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", DATABASE
            ):
                await connection.execute("CREATE DATABASE shoal")
        except asyncpg.PostgresError as error:
            raise self._failure("could not make its database", str(error)) from error
        finally:
            await connection.close()


def _major_of_cluster(data: Path) -> int:
    try:
        return int((data / "PG_VERSION").read_text(encoding="ascii"))
    except (OSError, ValueError) as error:
        raise Invalid(
            "postgres_files_damaged",
            f"{data} does not hold a PostgreSQL database.",
            hint="Restore a backup with 'shoal restore', or move the directory away.",
        ) from error
