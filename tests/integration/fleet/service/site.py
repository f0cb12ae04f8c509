"""A sentinel with all its parts, in this process, on real servers; and nodes of a test that know the wire."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx
import msgspec
from centrifuge import Client, ClientEventHandler  # type: ignore[import-untyped]  # it has no py.typed
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from shoal.access.tokens import issue_token
from shoal.app.iterations import Iterations
from shoal.app.starting import Connection
from shoal.brain.connection import Brain
from shoal.ledger.pool import Ledger
from shoal.node.identity import NodeIdentity
from shoal.roles.config import SECTIONS
from shoal.roles.sentinel import sentinel_parts
from shoal.runtime.clock import Clock
from shoal.runtime.lifecycle import run_parts
from shoal.runtime.settings import read_settings

from .engines import app

SECRET = "a secret that is long enough for HS256"
DEADLINE_S = 20.0

Json = dict[str, Any]


async def eventually(
    look: Callable[[], Awaitable[Any]], is_it: Callable[[Any], bool] = bool, *, within_s: float = DEADLINE_S
) -> Any:
    """What is seen once it is what was waited for."""
    end = time.monotonic() + within_s
    while not is_it(found := await look()):
        assert time.monotonic() < end, f"still {found!r}"
        await asyncio.sleep(0.05)
    return found


@dataclass
class Site:
    url: str
    ledger: Ledger
    brain: Brain
    http: httpx.AsyncClient

    def token(self, user: UUID) -> dict[str, str]:
        return {"Authorization": f"Bearer {issue_token(SECRET, user, timedelta(hours=1))}"}

    async def user(self) -> UUID:
        """Somebody who has signed in."""
        user = uuid4()
        await self.ask(user, "GET", "/api/me")
        return user

    async def ask(self, user: UUID, method: str, path: str, body: Any = None, *, status: int = 200) -> Any:
        answer = await self.http.request(method, self.url + path, headers=self.token(user), json=body)
        assert answer.status_code == status, answer.text
        return answer.json() if answer.content else None

    async def start(self, user: UUID, job: str = "waves", **wish: Any) -> UUID:
        declared = app.jobs[job]
        async with self.ledger.transaction() as connection:
            await connection.execute("SELECT shoal.register_job_type($1, '1', '{}', '[]')", job)
            lent: Connection = connection
            return await app.start(declared, wish, connection=lent, user_id=user)

    async def job(self, user: UUID, job_id: UUID) -> Json:
        found: Json = await self.ask(user, "GET", f"/api/jobs/{job_id}")
        return found

    async def ended(self, user: UUID, job_id: UUID) -> Json:
        found: Json = await eventually(
            lambda: self.job(user, job_id), lambda job: job["status"] not in {"queued", "processing"}
        )
        return found

    async def left_of_jobs(self) -> list[str]:
        """The keys that jobs still have in the brain."""
        client: Any = self.brain.client
        return sorted(key.decode() for key in await client.keys("{job}*"))

    @asynccontextmanager
    async def node(self, owner: UUID | None = None, **settings: Any) -> AsyncIterator["FieldNode"]:
        """A node that is connected and was heard; ``owner`` has claimed it."""
        node = FieldNode(self, **settings)
        registered = await node.register()
        if owner is not None:
            await self.ask(owner, "POST", "/api/nodes/claim", {"claimCode": registered["claimCode"]})
        await node.connect()
        try:
            await node.heartbeat()
            yield node
        finally:
            await node.leave()


@asynccontextmanager
async def sentinel(
    database_url: str, valkey_url: str, folder: Path, *, ledger: Ledger, brain: Brain, **given: Any
) -> AsyncIterator[Site]:
    flags = {
        "database_url": database_url,
        "redis_url": valkey_url,
        "vault_url": folder.as_uri(),
        "vault_link_secret": SECRET,
        "vault_link_url": "http://localhost",
        "jwt_secret": SECRET,
        "centrifugo_token_secret": SECRET,
        "api_port": 0,
        **given,
    }
    settings = read_settings(SECTIONS, flags=flags, environ={}, file=Path("/dev/null"))
    parts, server = sentinel_parts(settings)
    started, end = asyncio.Event(), asyncio.Event()
    running = asyncio.create_task(run_parts(parts, grace_s=5, until=end, on_started=started.set))
    waiting = asyncio.create_task(started.wait())
    await asyncio.wait({running, waiting}, return_when=asyncio.FIRST_COMPLETED)
    if running.done():
        running.result()
    async with httpx.AsyncClient(trust_env=False, timeout=DEADLINE_S) as http:
        try:
            yield Site(server.url, ledger, brain, http)
        finally:
            end.set()
            await running


@dataclass
class FieldNode:
    """A node as the wire knows it: it computes when the test says so, and nothing by itself."""

    site: Site
    parallel: int = 4
    engines: tuple[str, ...] = tuple(sorted(one.identity for one in app.engines.values()))
    clock: Clock | None = None
    key: Ed25519PrivateKey = field(default_factory=Ed25519PrivateKey.generate)
    id: str = ""
    jwt: str = ""
    held: dict[str, Json] = field(default_factory=dict)
    pushes: list[Json] = field(default_factory=list)
    left: "asyncio.Future[int]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    client: Any = None

    @property
    def identity(self) -> NodeIdentity:
        return NodeIdentity(self.key, self.clock)

    async def knock(
        self, method: str, path: str, body: bytes = b"", *, headers: Json | None = None
    ) -> httpx.Response:
        """A request that this node has signed."""
        url = self.site.url + path
        signed = dict(self.identity.sign(method, url, body)) if headers is None else headers
        return await self.site.http.request(method, url, content=body, headers=signed)

    async def register(self, **said: str) -> Json:
        answer = await self.knock("POST", "/nodes/register", msgspec.json.encode(said))
        assert answer.status_code == 200, answer.text
        found: Json = answer.json()
        self.id = found["id"]
        return found

    async def connect(self) -> None:
        answer = await self.knock("POST", "/nodes/token")
        assert answer.status_code == 200, answer.text
        self.jwt = answer.json()["jwt"]
        self.client = Client(answer.json()["url"], token=self.jwt, events=_Events(self), proxy=None)
        await self.client.connect()
        await self.client.ready(DEADLINE_S)

    async def call(self, method: str, data: Any) -> Any:
        async with asyncio.timeout(DEADLINE_S):
            return (await self.client.rpc(method, data)).data

    async def heartbeat(self, progress: float = 0.0) -> Json:
        reply: Json = await self.call(
            "heartbeat",
            {
                "chunks": dict.fromkeys(self.held, progress),
                "engines": list(self.engines),
                "maxParallel": self.parallel,
                "chunkS": 60.0,
            },
        )
        for lost in reply["lost"]:
            self.held.pop(lost, None)
        self.take(reply["chunks"])
        return reply

    async def resync(self) -> None:
        self.held = {one["id"]: one for one in (await self.call("getAssignedChunks", {}))["chunks"]}

    def take(self, chunks: list[Json]) -> None:
        self.held.update((one["id"], one) for one in chunks)

    def result_of(self, chunk: Json, config: Any = None) -> Json:
        (engine,) = (one for one in app.engines.values() if one.identity == chunk["engine"])
        its = Iterations(chunk["seed"], chunk["seedOffset"], chunk["iterations"])
        found: Json = msgspec.to_builtins(engine.compute(config or {}, its))
        return found

    async def complete(self, chunk_id: str, result: Json | None = None, *, wanted: int = 1) -> Json:
        chunk = self.held.pop(chunk_id, None)
        given = result if result is not None or chunk is None else self.result_of(chunk)
        answer: Json = await self.call(
            "completeChunk", {"chunkId": chunk_id, "result": given or {}, "wanted": wanted}
        )
        self.take(answer["chunks"])
        return answer

    async def work(self) -> int:
        """Compute until there is nothing more for it to do; how many chunks that was."""
        done = 0
        while self.held:
            for chunk_id in list(self.held):
                assert (await self.complete(chunk_id))["verdict"] == "OK"
                done += 1
        return done

    async def work_until_ended(self, user: UUID, job_id: UUID) -> Json:
        async def look() -> Json:
            await self.resync()
            await self.work()
            return await self.site.job(user, job_id)

        found: Json = await eventually(look, lambda job: job["status"] not in {"queued", "processing"})
        return found

    async def has_work(self, count: int = 1) -> list[str]:
        """The chunks it was told of, once these are so many."""

        async def look() -> int:
            return len(self.held)

        await eventually(look, lambda held: held >= count)
        return sorted(self.held)

    async def leave(self) -> None:
        if self.client is not None:
            await self.client.disconnect()


class _Events(ClientEventHandler):  # type: ignore[misc]  # of a library without types
    def __init__(self, node: FieldNode) -> None:
        self._node = node

    async def on_publication(self, ctx: Any) -> None:
        said = ctx.pub.data
        self._node.pushes.append(said)
        if said["type"] == "chunk":
            self._node.take([said])
        elif said["type"] == "drop":
            for chunk_id in said["chunkIds"]:
                self._node.held.pop(chunk_id, None)

    async def on_disconnected(self, ctx: Any) -> None:
        if not self._node.left.done():
            self._node.left.set_result(ctx.code)
