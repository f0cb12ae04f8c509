"""What a peer may send, and what it may ask for."""

import asyncio
import os
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
from blake3 import blake3
from google_crc32c import value as crc32c

from shoal.node.mesh.bandwidth import Cap
from shoal.node.mesh.channels import Channels
from shoal.node.mesh.downloads import Download, Downloads
from shoal.node.mesh.store import ShardStore
from shoal.node.mesh.uploads import Uploads
from shoal.rpc.server import RpcServer
from shoal.rpc.shard_transfer import ShardTransferServicer
from shoal.runtime.tickets import Ticket, TicketSigner
from shoal.wire._generated.scheduler_pb2 import TransferTask, TransferTaskComplete
from shoal.wire._generated.shard_transfer_pb2 import PieceData, ShardRequest
from shoal.wire._generated.shard_transfer_pb2_grpc import add_ShardTransferServicer_to_server
from shoal.wire.data_sets import PIECE, Shard

CONTENT = os.urandom(2 * PIECE + 100)
SHARD = Shard(blake3(CONTENT).hexdigest(), len(CONTENT))
SIGNER = TicketSigner("secret")

Pieces = Callable[[ShardRequest], list[PieceData]]


def piece(index: int, **changed: Any) -> PieceData:
    data = CONTENT[index * PIECE : (index + 1) * PIECE]
    good = {"shard_id": 0, "piece_index": index, "total_pieces": 3, "data": data, "crc32c": crc32c(data)}
    return PieceData(**{**good, **changed})


def flipped(index: int) -> PieceData:
    """Wrong bytes with a checksum that is right for them."""
    data = bytearray(piece(index).data)
    data[0] ^= 1
    return piece(index, data=bytes(data), crc32c=crc32c(bytes(data)))


class Peer:
    """Sends what it was told to send, with a pause before the piece of a number if so told."""

    def __init__(self) -> None:
        self.pieces: list[PieceData] = []
        self.asked_from: list[int] = []
        self.pause_s = 0.0

    async def StreamShard(self, request: ShardRequest, _: object) -> AsyncGenerator[PieceData, None]:  # noqa: N802
        self.asked_from.append(request.from_piece)
        for one in self.pieces:
            yield one
        await asyncio.sleep(self.pause_s)


@pytest.fixture
async def peer() -> AsyncIterator[tuple[Peer, str]]:
    peer = Peer()
    server = RpcServer("127.0.0.1:0", lambda rpc: add_ShardTransferServicer_to_server(peer, rpc))  # type: ignore[no-untyped-call]  # generated
    await server.start()
    yield peer, server.address
    await server.stop()


@pytest.fixture
async def downloads(tmp_path: Path) -> AsyncIterator[Downloads]:
    store = ShardStore(tmp_path / "mine")
    store.open()
    channels = Channels()
    async with httpx.AsyncClient() as http:
        with ThreadPoolExecutor(2) as disk:
            yield Downloads(
                store, channels=channels, http=http, disk=disk, down=Cap(0), origin=Cap(0), stall_s=0.5
            )
        await channels.close()
    store.close()


async def fetch(downloads: Downloads, address: str) -> str:
    task = TransferTask(job_id="job", shard_id=0, upstream_server_addr=address, task_id="t", ticket=b"x")
    download = Download(task, SHARD, "set")
    async with asyncio.timeout(10):
        await downloads.run(download)
    return TransferTaskComplete.Outcome.Name(download.outcome)


@pytest.mark.parametrize(
    "sent",
    [
        [piece(0), piece(1)],
        [],
        [piece(0), piece(1, crc32c=1)],
        [piece(0), piece(2)],
        [piece(1)],
        [piece(0, shard_id=1)],
        [piece(0, total_pieces=4)],
        [piece(0, data=b"")],
        [piece(0, data=piece(0).data + b"more")],
        [flipped(0), piece(1), piece(2)],
        [piece(0), piece(1), flipped(2)],
    ],
)
async def test_whatever_is_not_the_shard_is_blamed_on_the_peer(
    peer: tuple[Peer, str], downloads: Downloads, sent: list[PieceData]
) -> None:
    """Trap 6.12: a checksum of the sender says nothing about whether the bytes are the right ones."""
    peer[0].pieces = sent
    assert await fetch(downloads, peer[1]) == "CORRUPT"
    assert not downloads._store.has(SHARD)
    peer[0].pieces = [piece(0), piece(1), piece(2)]
    peer[0].pieces = peer[0].pieces[downloads._store.begin(SHARD).next_piece :]
    assert await fetch(downloads, peer[1]) == "SUCCEEDED"


async def test_a_message_that_is_too_large_breaks_the_transfer_and_nothing_else(
    peer: tuple[Peer, str], downloads: Downloads
) -> None:
    peer[0].pieces = [piece(0, data=bytes(8 * PIECE))]
    assert await fetch(downloads, peer[1]) in {"UNREACHABLE", "REFUSED"}
    peer[0].pieces = [piece(0), piece(1), piece(2)]
    assert await fetch(downloads, peer[1]) == "SUCCEEDED"


async def test_a_peer_that_says_nothing_is_left_and_what_came_is_kept(
    peer: tuple[Peer, str], downloads: Downloads
) -> None:
    peer[0].pieces, peer[0].pause_s = [piece(0), piece(1)], 30
    assert await fetch(downloads, peer[1]) == "STALLED"
    peer[0].pieces, peer[0].pause_s = [piece(2)], 0
    assert await fetch(downloads, peer[1]) == "SUCCEEDED"
    assert peer[0].asked_from == [0, 2]


async def test_what_a_disk_had_before_is_not_blamed_on_the_peer(
    peer: tuple[Peer, str], downloads: Downloads
) -> None:
    with downloads._store.begin(SHARD) as arrival:
        arrival.write(bytes(PIECE))  # wrong, and from another time
    peer[0].pieces = [piece(1), piece(2)]
    assert await fetch(downloads, peer[1]) == "ABANDONED"
    peer[0].pieces = [piece(0), piece(1), piece(2)]
    assert await fetch(downloads, peer[1]) == "SUCCEEDED"


async def test_nobody_there(downloads: Downloads) -> None:
    assert await fetch(downloads, "127.0.0.1:1") == "UNREACHABLE"


@pytest.fixture
async def uploader(tmp_path: Path) -> AsyncIterator[tuple[Uploads, str, Channels]]:
    store = ShardStore(tmp_path / "theirs")
    store.open()
    with store.begin(SHARD) as arrival:
        arrival.write(CONTENT)
        store.finish(arrival)
    channels = Channels()
    with ThreadPoolExecutor(2) as disk:
        uploads = Uploads(store, Cap(0), disk)
        server = RpcServer(
            "127.0.0.1:0",
            lambda rpc: add_ShardTransferServicer_to_server(ShardTransferServicer(uploads), rpc),  # type: ignore[no-untyped-call]  # generated
        )
        await server.start()
        yield uploads, server.address, channels
        await channels.close()
        await server.stop()
    store.close()


def a_ticket(uploads: Uploads, **changed: Any) -> bytes:
    now_ms = time.time_ns() // 1_000_000
    good = {
        "job_id": "job",
        "shard_id": 0,
        "shard_hash": SHARD.hash,
        "uploader": uploads._store.server_id,
        "downloader": "me",
        "task_id": "t",
        "expires_ms": now_ms + 10_000,
    }
    return SIGNER.sign(Ticket(**{**good, **changed}))


async def status_of(address: str, channels: Channels, **asked: Any) -> grpc.StatusCode:
    call = channels.shard_transfer(address).StreamShard(ShardRequest(**asked))
    try:
        async with asyncio.timeout(5):
            got = b"".join([one.data async for one in call])
    except grpc.aio.AioRpcError as error:
        return error.code()
    assert got == CONTENT[asked.get("from_piece", 0) * PIECE :]
    return grpc.StatusCode.OK


async def test_a_shard_goes_to_whoever_shows_a_ticket_for_it_and_to_nobody_else(
    uploader: tuple[Uploads, str, Channels],
) -> None:
    """Trap 6.4: the uploader checks what the coordinator signed."""
    uploads, address, channels = uploader
    good = {"job_id": "job", "shard_id": 0, "ticket": a_ticket(uploads)}
    assert await status_of(address, channels, **good) == grpc.StatusCode.UNAVAILABLE  # knows no key yet
    uploads.public_key = SIGNER.public_key
    assert await status_of(address, channels, **good) == grpc.StatusCode.OK
    assert await status_of(address, channels, **good, from_piece=1) == grpc.StatusCode.OK
    denied = grpc.StatusCode.PERMISSION_DENIED
    for wrong in (
        {"ticket": b""},
        {"ticket": b"\0" * 100},
        {"ticket": b"\0" * 100_000},
        {"ticket": a_ticket(uploads, expires_ms=1)},
        {"ticket": a_ticket(uploads, uploader="somebody")},
        {"ticket": a_ticket(uploads, shard_id=1)},
        {"job_id": "another"},
        {"shard_id": 1},
        {"from_piece": -1},
    ):
        assert await status_of(address, channels, **{**good, **wrong}) == denied
    foreign = a_ticket(uploads, shard_hash="0" * 64)
    assert await status_of(address, channels, **{**good, "ticket": foreign}) == grpc.StatusCode.NOT_FOUND
    assert uploads.running == {}


async def test_a_transfer_that_the_coordinator_gave_up_is_cut(
    uploader: tuple[Uploads, str, Channels],
) -> None:
    """Trap 6.4: what was given to somebody else does not go on beside it."""
    uploads, address, channels = uploader
    uploads.public_key = SIGNER.public_key
    uploads._cap = Cap(PIECE)  # a second for each piece
    asked = asyncio.create_task(
        status_of(address, channels, job_id="job", shard_id=0, ticket=a_ticket(uploads))
    )
    async with asyncio.timeout(5):
        while not uploads.running:  # noqa: ASYNC110 - a stream that begins elsewhere
            await asyncio.sleep(0.01)
    uploads.cut("t")
    assert await asked == grpc.StatusCode.PERMISSION_DENIED
    assert uploads.running == {}
