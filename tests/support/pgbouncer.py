"""A real PgBouncer in transaction mode: every transaction may run on another of its few connections."""

import asyncio
import shutil
import subprocess
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from shoal.local.account import postgres_account
from shoal.local.server import environment

from .generations import absent

PORT = 6432
CONNECTIONS = 2
READY_S = 10.0

CONFIGURATION = """
[databases]
* = host={host} port={port} user=postgres

[pgbouncer]
unix_socket_dir = {folder}
listen_port = {own_port}
auth_type = any
pool_mode = transaction
default_pool_size = {connections}
server_round_robin = 1
"""


def pgbouncer_binary() -> Path:
    found = shutil.which("pgbouncer", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
    if found is None:
        raise absent("pgbouncer", "it is not on this machine; on Debian: apt-get install pgbouncer")
    return Path(found)


class PgBouncer:
    """In front of the server that ``url`` leads to. ``server_round_robin`` makes the worst case the usual
    one: hardly ever does a client meet the connection it had before.
    """

    def __init__(self, folder: Path, url: str) -> None:
        self._folder = folder
        server = parse_qs(urlsplit(url).query)
        file = folder / "pgbouncer.ini"
        file.write_text(
            CONFIGURATION.format(
                host=server["host"][0],
                port=server["port"][0],
                folder=folder,
                own_port=PORT,
                connections=CONNECTIONS,
            )
        )
        account = postgres_account()  # PgBouncer refuses to run as root as well
        account.hand_over(folder)
        self._log_file = folder / "pgbouncer.log"
        with self._log_file.open("wb") as log:
            self._process = subprocess.Popen(
                [*account.prefix, str(pgbouncer_binary()), str(file)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env=environment(),
                start_new_session=True,
                **account.identity,
            )

    def url_of(self, database: str) -> str:
        return f"postgresql://postgres@/{database}?host={self._folder}&port={PORT}"

    async def ready(self) -> None:
        async with asyncio.timeout(READY_S):
            while not (self._folder / f".s.PGSQL.{PORT}").exists():
                assert self._process.poll() is None, self._log_file.read_text()
                await asyncio.sleep(0.01)

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait()
