"""A coordinator with one push of so many shards: ``python -m bench.mesh.sides.coordinator SHARDS``."""

import asyncio
import sys

import uvloop
from prometheus_client import CollectorRegistry

from bench.harness.table import say
from shoal.mesh.coordinator import Coordinator
from shoal.mesh.measures import CoordinatorMeasures
from shoal.mesh.model import Push
from shoal.mesh.settings import CoordinatorSettings
from shoal.rpc.scheduler import SchedulerServicer
from shoal.rpc.server import RpcServer
from shoal.runtime.clock import SystemClock
from shoal.runtime.logs import LogSettings, configure_logs
from shoal.runtime.tickets import TicketSigner
from shoal.wire._generated.scheduler_pb2_grpc import add_SchedulerServicer_to_server
from shoal.wire.data_sets import DataFile, DataSet, Shard

SECRET = "the secret of this bench"
ORIGIN_SLOTS = 64


async def link(hash_: str) -> str:
    return f"origin/{hash_}"


async def main() -> None:
    configure_logs(LogSettings(log_level="error"))
    count = int(sys.argv[1])
    data_set = DataSet(
        name="bench",
        files=[DataFile("file", count)],
        shards=[Shard(f"{number:064x}", 1) for number in range(count)],
    )
    settings = CoordinatorSettings(mesh_relearn_s=0, mesh_dead_after_s=600, mesh_origin_slots=ORIGIN_SLOTS)
    coordinator = Coordinator(settings, SystemClock(), CoordinatorMeasures(CollectorRegistry()))
    servicer = SchedulerServicer(
        coordinator, token=SECRET, signer=TicketSigner(SECRET), link=link, is_active=lambda: True
    )
    server = RpcServer(
        "127.0.0.1:0",
        lambda rpc: add_SchedulerServicer_to_server(servicer, rpc),  # type: ignore[no-untyped-call]  # generated
    )
    await server.start()
    coordinator.begin(Push("job", "id", data_set, b""), lambda _: None)
    say(server.address)
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    uvloop.run(main())
