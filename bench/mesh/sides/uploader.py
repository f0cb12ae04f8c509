"""A server that has shards and gives them out: ``python -m bench.mesh.sides.uploader STORE SECRET``."""

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import uvloop

from bench.harness.table import say
from shoal.node.mesh.bandwidth import Cap
from shoal.node.mesh.memory import keep_large_blocks
from shoal.node.mesh.store import ShardStore
from shoal.node.mesh.uploads import Uploads
from shoal.rpc.server import RpcServer
from shoal.rpc.shard_transfer import ShardTransferServicer
from shoal.runtime.tickets import TicketSigner
from shoal.wire._generated.shard_transfer_pb2_grpc import add_ShardTransferServicer_to_server


async def main() -> None:
    keep_large_blocks()
    store = ShardStore(Path(sys.argv[1]))
    store.open()
    uploads = Uploads(store, Cap(0), ThreadPoolExecutor(2))
    uploads.public_key = TicketSigner(sys.argv[2]).public_key
    server = RpcServer(
        "127.0.0.1:0",
        lambda rpc: add_ShardTransferServicer_to_server(ShardTransferServicer(uploads), rpc),  # type: ignore[no-untyped-call]  # generated
    )
    await server.start()
    say(f"{server.address} {store.server_id}")
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    uvloop.run(main())
