"""The servers of one test process: started when first asked for, ended with it, however it ends."""

import asyncio
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shoal.local.valkey import EmbeddedValkey

from .generations import binaries_of_postgres, binary_of_valkey
from .pgbouncer import PgBouncer
from .postgres import PostgresServer

# Waits until its input ends, which is when the test process ends; then clears what that left behind.
WARDEN = """
import shutil, sys
from pathlib import Path
import psutil
sys.stdin.read()
folder = Path(sys.argv[1])
if folder.exists():
    for process in psutil.process_iter():
        try:
            if folder in Path(process.cwd()).parents:
                process.kill()
        except psutil.Error:
            pass
    shutil.rmtree(folder, ignore_errors=True)
"""


def roomy_memory() -> str | None:
    """A file system in memory: a database is a thousand files, and disks can be slow to make them.

    None, for the usual place, where there is none or where it is small, as in a container.
    """
    memory = Path("/dev/shm")  # noqa: S108 - only directories with random names are made in it
    roomy = memory.is_dir() and shutil.disk_usage(memory).free > 2**31
    return str(memory) if roomy and os.access(memory, os.W_OK) else None


@contextmanager
def servers_folder() -> Iterator[Path]:
    """A folder with a path short enough for sockets, which the account of PostgreSQL can enter."""
    with tempfile.TemporaryDirectory(prefix="shoal-t-", dir=roomy_memory()) as name:
        folder = Path(name).resolve()
        folder.chmod(0o755)
        command = [sys.executable, "-c", WARDEN, str(folder)]
        warden = subprocess.Popen(command, stdin=subprocess.PIPE, cwd="/", start_new_session=True)
        try:
            yield folder
        finally:
            warden.communicate()  # its input ends; what is left in the folder goes with it


class Servers:
    """One server of each generation that any test asked for; tests share it and do not stop it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = itertools.count(1)
        self._postgres: dict[str, PostgresServer] = {}
        self._valkey: dict[str, EmbeddedValkey] = {}

    def postgres(self, generation: str) -> PostgresServer:
        if generation not in self._postgres:
            server = PostgresServer(self._new_home(generation), binaries_of_postgres(generation))
            asyncio.run(server.start())
            self._postgres[generation] = server
        return self._postgres[generation]

    def valkey(self, generation: str) -> EmbeddedValkey:
        if generation not in self._valkey:
            binary = binary_of_valkey(generation)
            home = self._new_home(generation)
            server = EmbeddedValkey(
                home / "home", sockets=home / "s", log_file=home / "valkey.log", binary=binary
            )
            asyncio.run(server.start())
            self._valkey[generation] = server
        return self._valkey[generation]

    def postgres_to_stop(self, generation: str) -> PostgresServer:
        """One that nobody shares at the same time; it runs whenever a test gets it."""
        name = f"{generation}-to-stop"
        if name not in self._postgres:
            self._postgres[name] = PostgresServer(self._new_home(name), binaries_of_postgres(generation))
        server = self._postgres[name]
        if not server.is_running:
            asyncio.run(server.start())
        return server

    async def pgbouncer(self, postgres: PostgresServer) -> PgBouncer:
        """One of the caller's own, which the caller stops."""
        pooler = PgBouncer(self._new_home(f"pgbouncer-{next(self._numbers)}"), postgres.url())
        await pooler.ready()
        return pooler

    def stop(self) -> None:
        for postgres in self._postgres.values():
            asyncio.run(postgres.stop())
        for valkey in self._valkey.values():
            asyncio.run(valkey.stop())

    def _new_home(self, name: str) -> Path:
        home = self._folder / name
        home.mkdir(mode=0o755)
        return home
