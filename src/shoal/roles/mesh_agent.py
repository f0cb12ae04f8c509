"""The agent of the mesh as a process: it listens, keeps shards, copies and gives them on."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx

from shoal.node.mesh.agent import MeshAgent
from shoal.node.mesh.bandwidth import Cap
from shoal.node.mesh.channels import Channels
from shoal.node.mesh.downloads import Downloads
from shoal.node.mesh.measures import MeshMeasures
from shoal.node.mesh.memory import keep_large_blocks
from shoal.node.mesh.settings import MeshAgentSettings, bytes_per_s
from shoal.node.mesh.store import ShardStore
from shoal.node.mesh.uploads import Uploads
from shoal.roles.config import RoleSettings
from shoal.rpc.server import RpcServer
from shoal.rpc.shard_transfer import ShardTransferServicer
from shoal.runtime.errors import Invalid
from shoal.runtime.lifecycle import Part, run_parts
from shoal.runtime.metrics import new_registry
from shoal.runtime.settings import Settings
from shoal.wire._generated.shard_transfer_pb2_grpc import add_ShardTransferServicer_to_server

DISK_THREADS = 4


class Shards(Part):
    """The folder, the connections and the threads of an agent: first to come, last to go."""

    name = "shards"

    def __init__(
        self, store: ShardStore, channels: Channels, http: httpx.AsyncClient, disk: ThreadPoolExecutor
    ) -> None:
        self._store = store
        self._channels = channels
        self._http = http
        self._disk = disk
        self._stopping = asyncio.Event()

    async def start(self) -> None:
        await asyncio.get_running_loop().run_in_executor(self._disk, self._store.open)

    async def run(self) -> None:
        await self._stopping.wait()

    async def stop(self) -> None:
        self._stopping.set()
        await self._channels.close()
        await self._http.aclose()
        self._disk.shutdown()
        self._store.close()


def mesh_agent_parts(own: MeshAgentSettings) -> list[Part]:
    if not own.mesh_coordinators or not own.mesh_token:
        raise Invalid(
            "mesh_not_configured",
            "An agent of the mesh needs a coordinator and the token of the mesh.",
            hint="Set SHOAL_MESH_COORDINATORS and SHOAL_MESH_TOKEN, or run it beside 'shoal up'.",
        )
    keep_large_blocks()
    store = ShardStore(own.mesh_store.expanduser(), quota=own.mesh_quota_bytes)
    channels = Channels()
    disk = ThreadPoolExecutor(DISK_THREADS, thread_name_prefix="mesh disk")
    http = httpx.AsyncClient(timeout=httpx.Timeout(own.mesh_stall_s), follow_redirects=False)
    uploads = Uploads(store, Cap(bytes_per_s(own.mesh_up_mb_s)), disk)
    downloads = Downloads(
        store,
        channels=channels,
        http=http,
        disk=disk,
        down=Cap(bytes_per_s(own.mesh_down_mb_s)),
        origin=Cap(bytes_per_s(own.mesh_origin_mb_s)),
        stall_s=own.mesh_stall_s,
    )
    agent = MeshAgent(
        own,
        store=store,
        channels=channels,
        uploads=uploads,
        downloads=downloads,
        disk=disk,
        measures=MeshMeasures(new_registry()),
    )

    def on_started(address: str) -> None:
        agent.address = own.mesh_address or address

    server = RpcServer(
        own.mesh_listen,
        lambda server: add_ShardTransferServicer_to_server(ShardTransferServicer(uploads), server),  # type: ignore[no-untyped-call]  # generated
        on_started=on_started,
    )
    return [Shards(store, channels, http, disk), server, agent]


async def run_mesh_agent(settings: Settings, *, on_ready: Callable[[], None]) -> None:
    await run_parts(
        mesh_agent_parts(settings[MeshAgentSettings]),
        grace_s=settings[RoleSettings].grace_period_s,
        on_started=on_ready,
    )
