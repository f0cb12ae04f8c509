"""One verified transfer over loopback, beside a bare sendfile into a buffer: megabytes a second of both.

The files lie in memory (/dev/shm) on both sides, so that no disk is measured. Ours includes the checksum
of each piece, the BLAKE3 hash of each shard, the ticket, and writing the file. The bare copy is read into a
buffer and forgotten.
"""

import asyncio
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import uvloop
from blake3 import blake3

from bench.harness.samples import Samples
from shoal.node.mesh.bandwidth import Cap
from shoal.node.mesh.channels import Channels
from shoal.node.mesh.downloads import Download, Downloads
from shoal.node.mesh.memory import keep_large_blocks
from shoal.node.mesh.store import ShardStore
from shoal.runtime.tickets import Ticket, TicketSigner
from shoal.wire._generated.scheduler_pb2 import TransferTask
from shoal.wire.data_sets import PIECE, Shard

MEGABYTE = 1_000_000
SHARD = 64 * PIECE
SECRET = "the secret of this bench"
IN_MEMORY = Path("/dev/shm")  # noqa: S108 - it shall be memory


def compare(*, shards: int, repetitions: int) -> tuple[Samples, Samples]:
    where = IN_MEMORY if IN_MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="shoal-bench-", dir=where) as name:
        folder = Path(name)
        kept = fill(folder / "theirs", shards)
        ours, bare = [], []
        with (
            running("uploader", str(folder / "theirs"), SECRET) as uploader,
            running("sender", str(folder / "theirs" / "shards" / kept[0].hash[:2] / kept[0].hash)) as sender,
        ):
            address, server_id = uploader.split()
            for number in range(repetitions + 1):  # the first warms up
                ours.append(uvloop.run(copy(folder / f"mine-{number}", kept, address, server_id)))
                bare.append(bare_copy(int(sender), kept))
    return Samples(ours[1:]), Samples(bare[1:])


def fill(root: Path, shards: int) -> list[Shard]:
    store = ShardStore(root)
    store.open()
    kept = []
    for _ in range(shards):
        content = os.urandom(SHARD)
        shard = Shard(blake3(content).hexdigest(), SHARD)
        with store.begin(shard) as arrival:
            arrival.write(content)
            store.finish(arrival)
        kept.append(shard)
    store.close()
    return kept


async def copy(root: Path, shards: list[Shard], address: str, server_id: str) -> float:
    keep_large_blocks()
    store = ShardStore(root)
    store.open()
    channels, signer = Channels(), TicketSigner(SECRET)
    async with httpx.AsyncClient() as http:
        with ThreadPoolExecutor(2) as disk:
            downloads = Downloads(
                store, channels=channels, http=http, disk=disk, down=Cap(0), origin=Cap(0), stall_s=10
            )
            began = time.perf_counter()
            for number, shard in enumerate(shards):
                expires_ms = time.time_ns() // 1_000_000 + 60_000
                ticket = Ticket("job", number, shard.hash, server_id, "me", f"t{number}", expires_ms)
                task = TransferTask(
                    job_id="job",
                    shard_id=number,
                    upstream_server_addr=address,
                    task_id=f"t{number}",
                    ticket=signer.sign(ticket),
                )
                download = Download(task, shard, "set")
                await downloads.run(download)
                assert store.has(shard), download.message
            took = time.perf_counter() - began
        await channels.close()
    store.close()
    await asyncio.to_thread(shutil.rmtree, root)
    return len(shards) * SHARD / took / MEGABYTE


def bare_copy(port: int, shards: list[Shard]) -> float:
    buffer = memoryview(bytearray(PIECE))
    began = time.perf_counter()
    for _ in shards:
        with socket.create_connection(("127.0.0.1", port)) as connection:
            left = SHARD
            while left:
                left -= connection.recv_into(buffer)
    return len(shards) * SHARD / (time.perf_counter() - began) / MEGABYTE


@contextmanager
def running(side: str, *arguments: str) -> Iterator[str]:
    """The first line a side prints; it ends with the block."""
    process = subprocess.Popen(
        [sys.executable, "-m", f"bench.mesh.sides.{side}", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()
