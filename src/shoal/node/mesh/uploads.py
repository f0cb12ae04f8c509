"""Giving shards on: who shows a good ticket gets the pieces of one shard."""

import asyncio
import os
import time
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from dataclasses import dataclass

from google_crc32c import value as crc32c

from shoal.node.mesh.bandwidth import Cap
from shoal.node.mesh.store import ShardStore
from shoal.runtime.errors import Forbidden, Unavailable
from shoal.runtime.tickets import Ticket, read_ticket
from shoal.wire._generated.shard_transfer_pb2 import PieceData, ShardRequest
from shoal.wire.data_sets import PIECE

READ_AT_ONCE = 2
"""Pieces: each reading costs a turn through a thread."""
MOST_AT_A_TIME = 16
"""Whatever the coordinator says: no more streams than these."""


@dataclass
class Upload:
    ticket: Ticket
    sent: int = 0
    is_cut: bool = False


class Uploads:
    def __init__(self, store: ShardStore, cap: Cap, disk: ThreadPoolExecutor) -> None:
        self.running: dict[str, Upload] = {}
        self.public_key = b""
        """Whom tickets come from; whoever does not know it yet gives out nothing."""
        self._store = store
        self._cap = cap
        self._disk = disk

    async def stream(self, request: ShardRequest) -> AsyncGenerator[PieceData, None]:
        ticket = self._admit(request)
        if before := self.running.get(ticket.task_id):
            before.is_cut = True  # the downloader has come again: what it had is broken
        elif len(self.running) >= MOST_AT_A_TIME:
            raise Unavailable("too_many_uploads", "This server gives out as much as it can.")
        upload = self.running[ticket.task_id] = Upload(ticket)
        loop = asyncio.get_running_loop()
        try:
            file, size = await loop.run_in_executor(self._disk, self._store.open_shard, ticket.shard_hash)
            total = -(-size // PIECE)
            async with aclosing(self._pieces(file, range(request.from_piece, total))) as pieces:
                async for index, data in pieces:
                    await self._cap.take(len(data))
                    if upload.is_cut:
                        raise Forbidden("upload_cut", "The coordinator has ended this transfer.")
                    yield PieceData(
                        shard_id=ticket.shard_id,
                        piece_index=index,
                        total_pieces=total,
                        data=data,
                        crc32c=crc32c(data),
                    )
                    upload.sent += len(data)
        finally:
            if self.running.get(ticket.task_id) is upload:
                del self.running[ticket.task_id]

    async def _pieces(self, file: int, wanted: range) -> AsyncGenerator[tuple[int, bytes], None]:
        """Some are read at once, and the next ones while these are sent. The file is closed with the end."""
        loop = asyncio.get_running_loop()

        def read(index: int) -> asyncio.Future[bytes]:
            return loop.run_in_executor(self._disk, os.pread, file, READ_AT_ONCE * PIECE, index * PIECE)

        reading = read(wanted.start)
        try:
            for first in wanted[::READ_AT_ONCE]:
                block = await reading
                reading = read(first + READ_AT_ONCE)
                for index in range(first, min(first + READ_AT_ONCE, wanted.stop)):
                    at = (index - first) * PIECE
                    yield index, block[at : at + PIECE]
        finally:
            await asyncio.wait({reading})
            os.close(file)

    def cut(self, task_id: str) -> None:
        """The coordinator has given it up: nobody waits for it any more."""
        if upload := self.running.get(task_id):
            upload.is_cut = True

    def _admit(self, request: ShardRequest) -> Ticket:
        if not self.public_key:
            raise Unavailable("no_ticket_key", "This server has not heard from its coordinator yet.")
        ticket = read_ticket(
            request.ticket,
            public_key=self.public_key,
            uploader=self._store.server_id,
            now_ms=time.time_ns() // 1_000_000,
        )
        if (ticket.job_id, ticket.shard_id) != (request.job_id, request.shard_id) or request.from_piece < 0:
            raise Forbidden("ticket_invalid", "The ticket is for another shard.")
        return ticket
