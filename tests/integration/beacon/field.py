"""Sentinels as processes of their own, a Centrifugo, and a HAProxy between the two."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx

from shoal.access.tokens import issue_token
from shoal.beacon.configuration import RedisServer, configuration, environment
from shoal.beacon.settings import BeaconSettings
from shoal.roles.up import free_port
from tests.scenarios.processes import Launched
from tests.support.centrifugo import Centrifugo
from tests.support.haproxy import HaProxy

from .site import SECRETS, stand_alone

READY_S = 20.0
JWT_SECRET = "the jwt secret of a test, long enough"


class Sentinel(Launched):
    def __init__(self, port: int, folder: Path, settings: dict[str, str]) -> None:
        given = {f"SHOAL_{name.upper()}": value for name, value in settings.items()}
        super().__init__(
            ["sentinel", "--set", f"api_port={port}", "--data-dir", str(folder / "none")],
            log_file=folder / f"sentinel-{port}.log",
            environment=given,
            ready=b"ready",
        )


@dataclass
class Field:
    sentinels: Sequence[Sentinel]
    url: str
    """Of the balancer, which is also where Centrifugo asks."""
    centrifugo: Centrifugo | None = None

    def headers(self, user: UUID) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token(user)}"}

    def token(self, user: UUID) -> str:
        return issue_token(JWT_SECRET, user, timedelta(hours=1))

    async def ask(self, user: UUID, method: str, path: str) -> dict[str, Any]:
        async with httpx.AsyncClient(trust_env=False) as client:
            answer = await client.request(method, f"{self.url}{path}", headers=self.headers(user))
            return dict(answer.json())

    async def is_open(self) -> None:
        """Return once the balancer has somebody to send requests to."""
        async with asyncio.timeout(READY_S), httpx.AsyncClient(trust_env=False) as client:
            while (await client.get(f"{self.url}/status")).status_code != 200:  # noqa: ASYNC110 - nobody tells us
                await asyncio.sleep(0.05)

    async def beacon_token(self, user: UUID) -> tuple[str, str]:
        """Where to connect, and with what."""
        given = await self.ask(user, "POST", "/api/token")
        return given["url"], given["token"]

    async def watch(self, user: UUID, job: UUID) -> "Watching":
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *["-m", "shoal", "job", "watch", str(job)],
            *["--set", f"api_url={self.url}", "--set", f"token={self.token(user)}"],
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, "HOME": "/nonexistent"},
        )
        return Watching(process)


class Watching:
    """``shoal job watch``, and what it prints."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._printed = ""

    async def until(self, words: str) -> None:
        assert self._process.stderr is not None
        while words not in self._printed:
            line = await self._process.stderr.readline()
            assert line, f"it ended before it said {words!r}: {self._printed}"
            self._printed += line.decode()

    async def exit_code(self) -> int:
        _, rest = await self._process.communicate()
        self._printed += rest.decode()
        assert "Traceback" not in self._printed, self._printed
        return int(self._process.returncode or 0)

    def kill(self) -> None:
        if self._process.returncode is None:
            self._process.kill()


@asynccontextmanager
async def field(
    folder: Path, *, database_url: str, redis_url: str, sentinels: int = 1, with_centrifugo: bool = True
) -> AsyncIterator[Field]:
    """Everything is built; sentinels and the Centrifugo are started by the test."""
    settings = {
        "database_url": database_url,
        "redis_url": redis_url,
        "vault_url": folder.as_uri(),
        "vault_link_secret": "link secret " * 4,
        "vault_link_url": "http://files.invalid",
        "jwt_secret": JWT_SECRET,
        "centrifugo_token_secret": SECRETS.centrifugo_token_secret,
    }
    ports = [free_port("127.0.0.1") for _ in range(sentinels)]
    balancer = HaProxy(folder, ports)
    centrifugo = _centrifugo(folder, balancer.url, redis_url) if with_centrifugo else None
    if centrifugo is not None:
        settings |= {
            "centrifugo_url": centrifugo.url,
            "centrifugo_api_key": SECRETS.centrifugo_api_key,
            "centrifugo_proxy_secret": SECRETS.centrifugo_proxy_secret,
        }
    members = [Sentinel(port, folder, settings) for port in ports]
    balancer.start()
    try:
        yield Field(members, balancer.url, centrifugo)
    finally:
        for member in members:
            if member.is_alive:
                await member.kill_group()
        if centrifugo is not None:
            centrifugo.stop()
        balancer.stop()


def _centrifugo(folder: Path, sentinel_url: str, redis_url: str) -> Centrifugo:
    secrets: BeaconSettings = SECRETS
    written = configuration(sentinel_url=sentinel_url, redis=RedisServer([redis_url]), origins=[])
    stand_alone(written)
    return Centrifugo(folder, written, api_key=secrets.centrifugo_api_key, environment=environment(secrets))
