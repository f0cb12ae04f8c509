"""The embedded Valkey (or Redis >= 7): reached over a socket only, with its append-only file on."""

import asyncio
import shutil
import signal
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import redis.asyncio
from redis.exceptions import RedisError, ResponseError

from shoal.local.binaries import valkey_binary
from shoal.local.processes import Farewell
from shoal.local.server import Answer, EmbeddedServer
from shoal.runtime.errors import Unavailable

SOCKET = "valkey.sock"
_ANSWER_S = 5.0
_SNAPSHOT_S = 600.0
_SNAPSHOT_POLL_S = 0.05
_BASE = "appendonly.aof.1.base.rdb"


class EmbeddedValkey(EmbeddedServer):
    name = "valkey"
    title = "Valkey"
    processes = ("valkey-server", "redis-server")
    farewell: ClassVar[Farewell] = (
        (signal.SIGTERM, 30.0),  # writes everything down
        (signal.SIGKILL, 5.0),
    )
    hint = "What Valkey holds can be rebuilt: its directory may be moved away. "

    def __init__(self, home: Path, *, sockets: Path, log_file: Path, binary: Path | None = None) -> None:
        super().__init__(home, sockets=sockets, log_file=log_file)
        self._given_binary = binary
        self.url = f"unix://{sockets / SOCKET}"

    async def copy_to(self, target: Path) -> None:
        """Write a copy of what the running server holds now, from which another one can start."""
        client = redis.asyncio.from_url(self.url)
        try:
            async with asyncio.timeout(_SNAPSHOT_S):
                await _take_snapshot(client)
        except (OSError, RedisError) as error:
            raise Unavailable(
                "backup_failed",
                f"Valkey could not be copied: {str(error) or 'it took too long'}.",
                hint=f"The server's log is {self._log_file}.",
            ) from error
        finally:
            await client.aclose()
        # With the append-only file on, a plain dump.rdb would be ignored at the start. As the base
        # of an append-only file that has no increments yet, it is read.
        folder = target / "appendonlydir"
        folder.mkdir(mode=0o700, parents=True)
        await asyncio.to_thread(shutil.move, self.home / "dump.rdb", folder / _BASE)
        (folder / "appendonly.aof.manifest").write_text(f"file {_BASE} seq 1 type b\n", encoding="ascii")

    @property
    def working_directory(self) -> Path:
        return self.home

    def _command(self) -> list[str]:
        options = {
            "dir": str(self.home),
            "port": "0",
            "unixsocket": str(self._sockets / SOCKET),
            "unixsocketperm": "700",
            "daemonize": "no",
            "appendonly": "yes",
            "appendfsync": "everysec",
            "save": "",
            "maxmemory-policy": "noeviction",
            # It would replace the command line, by which a server to adopt is recognised.
            "set-proc-title": "no",
        }
        binary = self._given_binary or valkey_binary()
        return [str(binary), *chain.from_iterable((f"--{k}", v) for k, v in options.items())]

    def _prepare(self) -> None:
        self.home.mkdir(mode=0o700, parents=True, exist_ok=True)

    def _clear_stale(self) -> None:
        (self._sockets / SOCKET).unlink(missing_ok=True)

    async def _ask(self) -> Answer:
        # By hand: over a socket file, redis-py tries several times, reports "loading" as a broken
        # connection, and leaves it open.
        try:
            async with asyncio.timeout(_ANSWER_S):
                reader, writer = await asyncio.open_unix_connection(self._sockets / SOCKET)
                try:
                    writer.write(b"PING\r\n")
                    answer = await reader.readline()
                finally:
                    writer.close()
        except OSError:
            return Answer.NONE
        if answer.startswith(b"-LOADING"):
            return Answer.STARTING
        return Answer.READY if answer.startswith(b"+PONG") else Answer.NONE


async def _take_snapshot(client: redis.asyncio.Redis) -> None:
    """Have ``dump.rdb`` written, begun after this call began."""
    while True:
        before = await _when_idle(client)
        try:
            await client.bgsave(schedule=False)
            break
        except ResponseError:
            # It began to rewrite its append-only file just now; only one such child runs at a time.
            await asyncio.sleep(_SNAPSHOT_POLL_S)
    after = await _when_idle(client)
    if after["rdb_saves"] == before["rdb_saves"]:
        raise ResponseError("the snapshot could not be written")


async def _when_idle(client: redis.asyncio.Redis) -> Mapping[str, Any]:
    while True:
        state: Mapping[str, Any] = await client.info("persistence")
        if not state["rdb_bgsave_in_progress"] and not state["aof_rewrite_in_progress"]:
            return state
        await asyncio.sleep(_SNAPSHOT_POLL_S)
