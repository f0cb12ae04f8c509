"""How many polls a second a coordinator answers: 2,000 servers that ask, get a transfer, and say it is done.

The coordinator is a process of its own with its gRPC edge; the servers are coroutines over a few connections.
No bytes are copied.
"""

import asyncio
import time

import grpc
import numpy as np
import uvloop

from bench.mesh.one_transfer import SECRET, running
from shoal.wire._generated.scheduler_pb2 import HeartbeatRequest, ServerStatus, TransferTaskComplete
from shoal.wire._generated.scheduler_pb2_grpc import SchedulerStub

CONNECTIONS = 8
TOKEN = (("authorization", f"Bearer {SECRET}"),)


def polls_per_s(*, servers: int, shards: int, seconds: float) -> float:
    with running("coordinator", str(shards)) as address:
        return uvloop.run(ask(address, servers=servers, shards=shards, seconds=seconds))


async def ask(address: str, *, servers: int, shards: int, seconds: float) -> float:
    channels = [
        grpc.aio.insecure_channel(address, options=[("grpc.use_local_subchannel_pool", 1)])
        for _ in range(CONNECTIONS)
    ]
    stubs = [SchedulerStub(channel) for channel in channels]  # type: ignore[no-untyped-call]  # generated
    answered = 0
    counting = False

    async def be_a_server(number: int) -> None:
        nonlocal answered
        stub, owned = stubs[number % CONNECTIONS], np.zeros(shards, np.bool_)
        name = f"s{number}"
        await stub.heartbeat(HeartbeatRequest(server_id=name, server_address=name), metadata=TOKEN)
        job_id = ""
        while True:
            packed = np.packbits(owned, bitorder="little").tobytes()
            status = ServerStatus(
                server_address=name, server_id=name, job_id=job_id, shards_owned=packed, inventory_epoch=1
            )
            task = await stub.getWork(status, metadata=TOKEN)
            job_id = task.job_id
            if task.shard_id < 0:
                continue
            answered += counting
            owned[task.shard_id] = True
            done = TransferTaskComplete(
                server_address=name,
                server_id=name,
                job_id=job_id,
                shard_id=task.shard_id,
                task_id=task.task_id,
            )
            await stub.reportTransferTaskCompletion(done, metadata=TOKEN)

    running_servers = [asyncio.create_task(be_a_server(number)) for number in range(servers)]
    await asyncio.sleep(seconds / 2)  # until the shards have spread
    counting, began = True, time.perf_counter()
    await asyncio.sleep(seconds)
    rate = answered / (time.perf_counter() - began)
    for task in running_servers:
        task.cancel()
    await asyncio.gather(*running_servers, return_exceptions=True)
    await asyncio.gather(*(channel.close() for channel in channels))
    return rate
