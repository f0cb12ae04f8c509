"""Getting one shard, from a peer or from the origin, and saying how it went."""

import asyncio
import errno
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TypeVar

import grpc
import httpx
from google_crc32c import value as crc32c

from shoal.node.mesh.arrival import Arrival
from shoal.node.mesh.bandwidth import Cap
from shoal.node.mesh.channels import Channels
from shoal.node.mesh.store import ShardStore
from shoal.runtime.errors import Conflict, TooLarge
from shoal.wire._generated.scheduler_pb2 import TransferTask, TransferTaskComplete
from shoal.wire._generated.shard_transfer_pb2 import PieceData, ShardRequest
from shoal.wire.data_sets import PIECE, Shard

T = TypeVar("T")
REFUSALS = {
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.PERMISSION_DENIED,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.UNAUTHENTICATED,
}
NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@dataclass
class Download:
    """One transfer. ``received`` counts what came over the network."""

    task: TransferTask
    shard: Shard
    data_set_id: str
    received: int = 0
    outcome: TransferTaskComplete.Outcome = TransferTaskComplete.SUCCEEDED
    message: str = ""
    cut: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def is_from_origin(self) -> bool:
        return self.task.source_type == TransferTask.GCS


class Downloads:
    def __init__(
        self,
        store: ShardStore,
        *,
        channels: Channels,
        http: httpx.AsyncClient,
        disk: ThreadPoolExecutor,
        down: Cap,
        origin: Cap,
        stall_s: float,
    ) -> None:
        self.running: dict[str, Download] = {}
        self._store = store
        self._channels = channels
        self._http = http
        self._disk = disk
        self._down = down
        self._origin = origin
        self._stall_s = stall_s

    async def run(self, download: Download) -> None:
        """Bring the shard here. Whatever goes wrong is the outcome, and is not raised."""
        self.running[download.task.task_id] = download
        try:
            await self._until_cut(download)
        except (TimeoutError, httpx.TimeoutException):
            _end(download, TransferTaskComplete.STALLED, f"nothing came for {self._stall_s:g} s")
        except grpc.aio.AioRpcError as error:
            refused = error.code() in REFUSALS
            kind = TransferTaskComplete.REFUSED if refused else TransferTaskComplete.UNREACHABLE
            _end(download, kind, f"{error.code().name}: {error.details()}")
        except httpx.HTTPError as error:
            _end(download, TransferTaskComplete.UNREACHABLE, f"{type(error).__name__}: {error}")
        except TooLarge as error:
            _end(download, TransferTaskComplete.NO_ROOM, error.message)
        except OSError as error:
            room = error.errno in NO_ROOM
            kind = TransferTaskComplete.NO_ROOM if room else TransferTaskComplete.ABANDONED
            _end(download, kind, str(error))
        finally:
            del self.running[download.task.task_id]

    async def _until_cut(self, download: Download) -> None:
        """Whole, or broken off when the coordinator has given it to somebody else."""
        bringing = asyncio.ensure_future(self._bring(download))
        cut = asyncio.ensure_future(download.cut.wait())
        try:
            await asyncio.wait({bringing, cut}, return_when=asyncio.FIRST_COMPLETED)
            if not bringing.done():
                _end(download, TransferTaskComplete.ABANDONED, "the coordinator has ended it")
                return
            bringing.result()
        finally:
            cut.cancel()
            bringing.cancel()
            await asyncio.wait({bringing})

    async def _bring(self, download: Download) -> None:
        if self._store.has(download.shard):
            return
        arrival = await self._in_thread(
            lambda: self._store.begin(download.shard, wanted=download.data_set_id)
        )
        with arrival:
            try:
                if not arrival.is_whole:
                    source = self._from_origin if download.is_from_origin else self._from_peer
                    async with aclosing(source(download, arrival)) as blocks:
                        await self._write_all(download, arrival, blocks)
                await self._in_thread(lambda: self._store.finish(arrival))
            except Conflict as error:
                # What stood on this disk before may be what is wrong; only what came just now can be blamed.
                blamed = arrival.began_at == 0 and download.received == download.shard.size
                corrupt = blamed or error.code == "piece_wrong"
                kind = TransferTaskComplete.CORRUPT if corrupt else TransferTaskComplete.ABANDONED
                _end(download, kind, error.message)

    async def _write_all(
        self, download: Download, arrival: Arrival, blocks: AsyncGenerator[bytes, None]
    ) -> None:
        """Hash and write one block while the next is on its way."""
        writing: asyncio.Future[None] | None = None
        try:
            async for block in blocks:
                if writing is not None:
                    await writing
                writing = asyncio.get_running_loop().run_in_executor(self._disk, arrival.write, block)
                download.received += len(block)
                await self._down.take(len(block))
        finally:
            if writing is not None:
                await asyncio.wait({writing})  # it uses the file
        if writing is not None:
            writing.result()

    async def _from_peer(self, download: Download, arrival: Arrival) -> AsyncGenerator[bytes, None]:
        task = download.task
        asked = ShardRequest(
            job_id=task.job_id, shard_id=task.shard_id, from_piece=arrival.next_piece, ticket=task.ticket
        )
        call = self._channels.shard_transfer(task.upstream_server_addr).StreamShard(asked)
        try:
            total = -(-download.shard.size // PIECE)
            for index in range(arrival.next_piece, total):
                async with asyncio.timeout(self._stall_s):
                    piece = await call.read()
                if piece is grpc.aio.EOF:
                    raise _piece_wrong("the stream ended early")
                _check(piece, download, index=index, total=total)
                yield piece.data
        finally:
            call.cancel()

    async def _from_origin(self, download: Download, arrival: Arrival) -> AsyncGenerator[bytes, None]:
        headers = {"Range": f"bytes={arrival.came}-"} if arrival.came else {}
        async with self._http.stream("GET", download.task.gcs_path, headers=headers) as answer:
            if answer.status_code != (206 if arrival.came else 200):
                raise httpx.HTTPStatusError(
                    f"the origin answers {answer.status_code}", request=answer.request, response=answer
                )
            async for block in answer.aiter_raw(PIECE):
                await self._origin.take(len(block))
                yield block

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._disk, work)


def _check(piece: PieceData, download: Download, *, index: int, total: int) -> None:
    expected = min(PIECE, download.shard.size - index * PIECE)
    if (piece.shard_id, piece.piece_index, piece.total_pieces) != (download.task.shard_id, index, total):
        raise _piece_wrong("a piece of something else came")
    if len(piece.data) != expected:
        raise _piece_wrong(f"a piece has {len(piece.data)} bytes instead of {expected}")
    if crc32c(piece.data) != piece.crc32c:
        raise _piece_wrong("its checksum is wrong")


def _piece_wrong(why: str) -> Conflict:
    return Conflict("piece_wrong", f"What came is not the shard: {why}.")


def _end(download: Download, outcome: TransferTaskComplete.Outcome, message: str) -> None:
    download.outcome = outcome
    download.message = message[:500]
