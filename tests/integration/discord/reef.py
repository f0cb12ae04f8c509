"""A real `shoal up` with a bot, a node that is open to a guild, and people in and out of that guild."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx
from redis.asyncio import Redis

from shoal.access.tokens import issue_token
from shoal.fleet.looks import FleetLooks
from shoal.local.directory import DataDirectory
from shoal.local.servers import servers_of
from tests.integration.cli.shoal_command import REPOSITORY, Shoal
from tests.support.discord_double.double import Discord
from tests.support.discord_double.world import Guild

from .reef_app import REFERENCE
from .stage import eventually

STARTS_WITHIN_S = 90.0
WITHIN_S = 60.0


@dataclass
class Person:
    account: int
    id: UUID = field(default_factory=uuid4)


@dataclass
class Reef:
    there: Discord
    shoal: Shoal
    url: str
    http: httpx.AsyncClient
    looks: FleetLooks

    def headers(self, person: Person) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token(person)}"}

    def token(self, person: Person) -> str:
        secret = DataDirectory(self.shoal.data_dir).secrets().jwt_secret
        return issue_token(secret, person.id, timedelta(hours=1))

    async def ask(self, person: Person, method: str, path: str, **given: Any) -> Any:
        answer = await self.http.request(method, path, headers=self.headers(person), **given)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None

    async def kill(self) -> None:
        """As a power cut does to the process with the bot; its servers find out by themselves."""
        holder = DataDirectory(self.shoal.data_dir).holder()
        assert holder is not None
        os.kill(holder.pid, signal.SIGKILL)
        await eventually(lambda: not self.there.gateway.connections)

    async def up_again(self) -> None:
        port = self.url.rpartition(":")[2]
        await asyncio.to_thread(self.shoal.ok, "up", "--detach", "--port", port, "--app", REFERENCE)
        await eventually(lambda: self.there.gateway.connections, within_s=WITHIN_S)

    async def link(self, person: Person) -> Person:
        made = await self.ask(person, "POST", "/api/discord/link")
        assert "Linked" in (await self.there.answer("link", by=person.account, code=made["code"])).text
        return person

    async def start(self, person: Person, *, chunks: int = 10) -> str:
        wish = {"type": "tide", "params": {"chunks": chunks}}
        return str((await self.ask(person, "POST", "/api/jobs/start", json=wish))["id"])

    async def status(self, person: Person, job: str) -> str:
        return str((await self.ask(person, "GET", f"/api/jobs/{job}"))["status"])

    async def completes(self, person: Person, job: str, *, within_s: float = WITHIN_S) -> None:
        async with asyncio.timeout(within_s):
            while (status := await self.status(person, job)) != "complete":
                assert status in {"queued", "processing"}
                await asyncio.sleep(0.1)

    async def plan_of(self, person: Person, job: str) -> str:
        """The task of the job that is in the brain; waits until it is there."""
        async with asyncio.timeout(WITHIN_S):
            while True:
                tasks = (await self.ask(person, "GET", f"/api/jobs/{job}/tasks"))["tasks"]
                mine = [task["id"] for task in tasks if task["executor"] == "fleet"]
                if mine and mine[0] in await self.looks.progress():
                    return str(mine[0])
                await asyncio.sleep(0.05)

    async def done(self, plan: str) -> int:
        """How many chunks of it are done."""
        return (await self.looks.progress())[plan][1]

    async def held(self) -> int:
        return sum((await self.looks.backlogs(list(await self.looks.heard()))).values())

    async def reaches(self, plan: str, chunks: int) -> None:
        async with asyncio.timeout(WITHIN_S):
            while await self.done(plan) < chunks:  # noqa: ASYNC110 - the brain tells nobody
                await asyncio.sleep(0.05)

    async def is_let_go(self) -> None:
        """No node holds a chunk of anybody."""
        async with asyncio.timeout(WITHIN_S):
            while await self.held():  # noqa: ASYNC110 - the brain tells nobody
                await asyncio.sleep(0.05)

    @asynccontextmanager
    async def node(self, owner: Person, guild: Guild, folder: Path) -> AsyncIterator[str]:
        """A node of theirs, as a process of its own, open to the members of the guild."""
        before = {node["id"] for node in (await self.ask(owner, "GET", "/api/nodes"))["nodes"]}
        process = await asyncio.to_thread(start_node, folder, self.url, self.token(owner))
        try:
            node = await self._claimed(owner, before)
            access = [{"accessType": "discord", "targetId": str(guild.id)}]
            await self.ask(owner, "PUT", f"/api/nodes/{node}/access", json={"access": access})
            yield node
        finally:
            process.terminate()
            await asyncio.to_thread(process.wait, 30)

    async def _claimed(self, owner: Person, before: set[str]) -> str:
        async with asyncio.timeout(STARTS_WITHIN_S):
            while True:
                nodes = (await self.ask(owner, "GET", "/api/nodes"))["nodes"]
                mine = [
                    node["id"] for node in nodes if node["id"] not in before and node["state"] == "online"
                ]
                if mine:
                    return str(mine[0])
                await asyncio.sleep(0.2)


def start_node(folder: Path, url: str, token: str) -> "subprocess.Popen[bytes]":
    folder.mkdir()
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(
            [
                *[sys.executable, "-m", "shoal", "node", "run", "--claim", "--engines", REFERENCE],
                *["--url", url, "--dir", str(folder / "node"), "--parallel", "1"],
                *["--set", "node_heartbeat_s=0.5"],
            ],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=REPOSITORY,
            env={"PATH": os.environ["PATH"], "HOME": str(folder), "SHOAL_TOKEN": token},
        )


@asynccontextmanager
async def reef(there: Discord, shoal: Shoal) -> AsyncIterator[Reef]:
    shoal.environment["SHOAL_DISCORD_TOKEN"] = there.token
    shoal.environment["SHOAL_DISCORD_API_URL"] = there.url
    url = await asyncio.to_thread(shoal.up, "--app", REFERENCE)
    await eventually(lambda: "help" in there.world.commands and there.gateway.sessions, within_s=WITHIN_S)
    _, valkey = servers_of(DataDirectory(shoal.data_dir))
    async with (
        httpx.AsyncClient(base_url=url, trust_env=False, timeout=30) as http,
        Redis.from_url(valkey.url) as client,
    ):
        yield Reef(there, shoal, url, http, FleetLooks(client))
        await asyncio.to_thread(shoal.down)
