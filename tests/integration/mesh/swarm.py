"""A coordinator, an origin and agents in one process, over real sockets and real disks."""

import asyncio
import os
from collections import Counter
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Self

from aiohttp import web
from prometheus_client import CollectorRegistry

from shoal.mesh.coordinator import Coordinator
from shoal.mesh.measures import CoordinatorMeasures
from shoal.mesh.model import Ended, Push
from shoal.mesh.publishing import Published, load_manifest, publish_folder, shard_key
from shoal.mesh.settings import CoordinatorSettings
from shoal.node.mesh.settings import MeshAgentSettings
from shoal.roles.mesh_agent import mesh_agent_parts
from shoal.rpc.scheduler import SchedulerServicer
from shoal.rpc.server import RpcServer
from shoal.runtime.clock import SystemClock
from shoal.runtime.lifecycle import Part
from shoal.runtime.tickets import TicketSigner
from shoal.vault.settings import VaultSettings
from shoal.vault.store import open_vault
from shoal.wire._generated.scheduler_pb2_grpc import add_SchedulerServicer_to_server

TOKEN = "the token of this mesh"
SECRET = "the secret of this mesh"
QUICK = CoordinatorSettings(
    coordinator_listen="127.0.0.1:0", mesh_dead_after_s=2, mesh_lease_s=3, mesh_relearn_s=0
)


class Running:
    """Parts that run until they are stopped, or killed: dropped as they are."""

    def __init__(self, parts: list[Part]) -> None:
        self.parts = parts
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        for part in self.parts:
            await part.start()
            self._tasks.append(asyncio.create_task(part.run()))

    async def stop(self) -> None:
        for part, task in zip(reversed(self.parts), reversed(self._tasks), strict=False):
            await part.stop()
            await asyncio.wait({task}, timeout=5)
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        self._tasks.clear()


class Mesh:
    def __init__(self, folder: Path, settings: CoordinatorSettings = QUICK) -> None:
        self.folder = folder
        self.settings = settings
        self.vault = open_vault(VaultSettings(vault_url=(folder / "vault").as_uri()))
        self.signer = TicketSigner(SECRET)
        self.sent: Counter[str] = Counter()
        """Bytes that left the origin, by shard."""
        self.is_active = True
        self.agents: dict[str, Running] = {}
        self._opened = AsyncExitStack()
        self._address = ""

    async def __aenter__(self) -> Self:
        await self._serve_origin()
        await self.start_coordinator()
        return self

    async def __aexit__(self, *_: object) -> None:
        for agent in self.agents.values():
            await agent.stop()
        await self.rpc.stop()
        await self._opened.aclose()

    async def start_coordinator(self) -> None:
        """A new one, at the address of the one before."""
        self.coordinator = Coordinator(self.settings, SystemClock(), CoordinatorMeasures(CollectorRegistry()))
        servicer = SchedulerServicer(
            self.coordinator,
            token=TOKEN,
            signer=self.signer,
            link=self._link,
            is_active=lambda: self.is_active,
        )
        self.rpc = RpcServer(
            self._address or self.settings.coordinator_listen,
            lambda server: add_SchedulerServicer_to_server(servicer, server),  # type: ignore[no-untyped-call]  # generated
        )
        await self.rpc.start()
        self._address = self.rpc.address
        self._ticking = asyncio.create_task(self._tick())
        self._opened.callback(self._ticking.cancel)

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(0.05)
            self.coordinator.tick()

    async def kill_coordinator(self) -> None:
        self._ticking.cancel()
        await self.rpc.stop()

    def agent_settings(self, name: str, **given: object) -> MeshAgentSettings:
        return MeshAgentSettings(
            mesh_coordinators=(self._address,),
            mesh_store=self.folder / name,
            mesh_heartbeat_s=0.2,
            **{"mesh_token": TOKEN, "mesh_stall_s": 2, **given},  # type: ignore[arg-type]
        )

    async def start_agent(self, name: str, **given: object) -> Running:
        running = Running(mesh_agent_parts(self.agent_settings(name, **given)))
        await running.start()
        self.agents[name] = running
        return running

    async def publish(self, size: int, *, name: str = "model", shard_size: int = 1024 * 1024) -> Published:
        source = self.folder / "sources" / name
        (source / "deep" / "er").mkdir(parents=True, exist_ok=True)
        (source / "large.bin").write_bytes(os.urandom(size))
        (source / "deep" / "er" / "small.txt").write_text("small")
        (source / "run.sh").write_text("#!/bin/sh\n")
        (source / "run.sh").chmod(0o755)
        (source / "empty").touch()
        return await self.publish_again(name=name, shard_size=shard_size)

    async def publish_again(self, *, name: str = "model", shard_size: int = 1024 * 1024) -> Published:
        """What the folder holds now."""
        return await publish_folder(
            self.vault, self.folder / "sources" / name, name=name, shard_size=shard_size
        )

    async def push(
        self, published: Published, *, job_id: str = "job", to: tuple[str, ...] = ()
    ) -> asyncio.Future[Ended]:
        data_set, body = await load_manifest(self.vault, published.id)
        ended: asyncio.Future[Ended] = asyncio.get_running_loop().create_future()
        self.coordinator.begin(Push(job_id, published.id, data_set, body, to=to), ended.set_result)
        return ended

    async def until(self, condition: Callable[[], bool], *, seconds: float = 20) -> None:
        async with asyncio.timeout(seconds):
            while not condition():  # noqa: ASYNC110 - what is waited for happens on a disk
                await asyncio.sleep(0.02)

    async def until_laid_out(self, *agents: str, name: str = "model") -> None:
        await self.until(lambda: all((self.folder / one / "data" / name).exists() for one in agents))
        for one in agents:
            self.assert_copied(one, name)

    def assert_copied(self, agent: str, name: str = "model") -> None:
        source, copy = self.folder / "sources" / name, self.folder / agent / "data" / name
        for file in source.rglob("*"):
            other = copy / file.relative_to(source)
            if file.is_file():
                assert other.read_bytes() == file.read_bytes()
                assert other.stat().st_mode & 0o111 == file.stat().st_mode & 0o111

    async def _link(self, hash_: str) -> str:
        return f"{self._origin}/{hash_}"

    async def _serve_origin(self) -> None:
        async def give(request: web.Request) -> web.StreamResponse:
            hash_ = request.match_info["hash"]
            response = web.FileResponse(self.folder / "vault" / shard_key(hash_))
            start = request.http_range.start or 0
            self.sent[hash_] += (self.folder / "vault" / shard_key(hash_)).stat().st_size - start
            return response

        app = web.Application()
        app.router.add_get("/{hash}", give)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self._origin = f"http://127.0.0.1:{runner.addresses[0][1]}"
        self._opened.push_async_callback(runner.cleanup)
