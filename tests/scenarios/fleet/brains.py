"""The brain of the scenario: one server with an append-only file, or two of which Sentinels choose one."""

import asyncio
import shutil
from abc import ABC, abstractmethod
from contextlib import suppress
from pathlib import Path
from signal import SIGCONT, SIGSTOP
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import RedisError

from shoal.local.binaries import valkey_binary
from shoal.roles.up import free_port

READY_S = 20.0
BEHIND_S = 1.0
LOOK_EVERY_S = 0.05


class RedisProcess:
    def __init__(self, folder: Path, *options: str, port: int | None = None) -> None:
        self.port = port or free_port("127.0.0.1")
        self.folder = folder
        self._options = options
        self._process: asyncio.subprocess.Process | None = None
        folder.mkdir(parents=True, exist_ok=True)

    async def start(self, *more: str) -> None:
        with (self.folder / "log").open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                str(valkey_binary()),
                *self._options,
                *("--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder)),
                *more,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        async with asyncio.timeout(READY_S):
            while not await self.answers():
                assert self._process.returncode is None, f"Redis ended at once: see {self.folder / 'log'}"
                await asyncio.sleep(LOOK_EVERY_S)

    async def answers(self) -> bool:
        client = Redis(port=self.port, socket_timeout=1, socket_connect_timeout=1)
        try:
            return bool(await client.ping())
        except (RedisError, OSError):
            return False
        finally:
            await client.aclose()

    async def kill(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()

    def pause(self) -> None:
        assert self._process is not None
        self._process.send_signal(SIGSTOP)

    def resume(self) -> None:
        assert self._process is not None
        with suppress(ProcessLookupError):
            self._process.send_signal(SIGCONT)


class BrainUnderTest(ABC):
    """What is done to it; ``url`` is how the processes of the fleet reach it."""

    url: str

    @abstractmethod
    async def start(self) -> None: ...

    @abstractmethod
    async def stop(self) -> None: ...

    @abstractmethod
    async def restart(self) -> None:
        """kill -9, and again."""

    @abstractmethod
    async def lose_the_end(self) -> None:
        """It dies, and what comes back knows nothing of the last second."""

    @abstractmethod
    def client(self) -> Redis: ...

    async def flush(self) -> None:
        client = self.client()
        try:
            await client.flushall()
        finally:
            await client.aclose()


class SingleBrain(BrainUnderTest):
    def __init__(self, folder: Path) -> None:
        self._server = RedisProcess(
            folder / "brain", *("--appendonly", "yes", "--appendfsync", "everysec", "--save", "")
        )
        self._kept = folder / "brain-a-second-ago"
        self.url = f"redis://127.0.0.1:{self._server.port}"

    async def start(self) -> None:
        await self._server.start()

    async def stop(self) -> None:
        await self._server.kill()

    async def restart(self) -> None:
        await self._server.kill()
        await self._server.start()

    async def lose_the_end(self) -> None:
        files = self._server.folder / "appendonlydir"
        await asyncio.to_thread(shutil.copytree, files, self._kept)
        await asyncio.sleep(BEHIND_S)
        await self._server.kill()
        await asyncio.to_thread(shutil.rmtree, files)
        await asyncio.to_thread(shutil.move, self._kept, files)
        await self._server.start()

    def client(self) -> Redis:
        return Redis(port=self._server.port, socket_timeout=5)


class BrainWithReplica(BrainUnderTest):
    """A write counts when one replica is there; which of the two is the master is up to three Sentinels."""

    def __init__(self, folder: Path) -> None:
        options = ("--save", "", "--min-replicas-to-write", "1", "--min-replicas-max-lag", "10")
        self._servers = [RedisProcess(folder / f"brain-{number}", *options) for number in (1, 2)]
        self._sentinels = []
        for number in (1, 2, 3):
            home = folder / f"redis-sentinel-{number}"
            home.mkdir(parents=True)
            (home / "sentinel.conf").write_text(
                f"sentinel monitor fleet 127.0.0.1 {self._servers[0].port} 2\n"
                "sentinel down-after-milliseconds fleet 1000\n"
                "sentinel failover-timeout fleet 5000\n",
                encoding="ascii",
            )
            self._sentinels.append(RedisProcess(home, str(home / "sentinel.conf"), "--sentinel"))
        hosts = ",".join(f"127.0.0.1:{one.port}" for one in self._sentinels)
        self.url = f"redis+sentinel://{hosts}/fleet"
        self._master = self._servers[0]

    async def start(self) -> None:
        master, replica = self._servers
        await master.start()
        await replica.start("--replicaof", "127.0.0.1", str(master.port))
        for sentinel in self._sentinels:
            await sentinel.start()
        await self._until_replicated()

    async def stop(self) -> None:
        for process in (*self._sentinels, *self._servers):
            process.resume()
            await process.kill()

    async def restart(self) -> None:
        """A failover in which the replica was up to date, or nearly."""
        await self._fail_over()

    async def lose_the_end(self) -> None:
        """A failover to a replica that was behind."""
        replica = self._other(self._master)
        replica.pause()
        await asyncio.sleep(BEHIND_S)
        await self._fail_over(wake=replica)

    async def _fail_over(self, wake: RedisProcess | None = None) -> None:
        old = self._master
        await old.kill()
        if wake:
            wake.resume()
        async with asyncio.timeout(READY_S):
            while await self._named() is old:  # noqa: ASYNC110 - nobody tells us
                await asyncio.sleep(LOOK_EVERY_S)
        self._master = await self._named()
        # Nothing is written until somebody replicates it.
        await old.start("--replicaof", "127.0.0.1", str(self._master.port))
        await self._until_replicated()

    async def _named(self) -> RedisProcess:
        """The master, as a majority will soon believe: by one of the Sentinels."""
        client = Redis(port=self._sentinels[0].port, socket_timeout=5, decode_responses=True)
        try:
            found: Any = client.execute_command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "fleet")  # type: ignore[no-untyped-call]
            _, port = await found
            return next(one for one in self._servers if one.port == int(port))
        finally:
            await client.aclose()

    async def _until_replicated(self) -> None:
        client = self.client()
        try:
            async with asyncio.timeout(READY_S):
                while True:
                    with suppress(RedisError, OSError):
                        found: Any = await client.info("replication")
                        if found["role"] == "master" and found.get("slave0", {}).get("state") == "online":
                            return
                    await asyncio.sleep(LOOK_EVERY_S)
        finally:
            await client.aclose()

    def _other(self, one: RedisProcess) -> RedisProcess:
        return next(other for other in self._servers if other is not one)

    def client(self) -> Redis:
        return Redis(port=self._master.port, socket_timeout=5)
