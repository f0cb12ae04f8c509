"""The world of one data set as bitmaps: who has which shard, who is getting it, and who is busy.

Bitmaps lie by shard: a row is a shard, and server 0 is the lowest bit of byte 0. Everything a decision
needs about a shard is then a few hundred bytes that lie together, for thousands of servers.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Bits = NDArray[np.uint8]
Numbers = NDArray[np.int64]

ORIGIN = -1


@dataclass(frozen=True)
class Limits:
    """How many transfers at a time: of a server in each direction, and of the origin altogether."""

    downloads: int = 1
    uploads: int = 1
    origin: int = 1


@dataclass(frozen=True, slots=True)
class Transfers:
    """Transfers side by side: who gets, which shard, from whom (``ORIGIN``, or a server)."""

    servers: Numbers
    shards: Numbers
    sources: Numbers

    def __len__(self) -> int:
        return len(self.servers)

    def __getitem__(self, chosen: NDArray[np.bool_]) -> "Transfers":
        return Transfers(self.servers[chosen], self.shards[chosen], self.sources[chosen])

    @classmethod
    def of(cls, rows: Sequence[tuple[int, int, int]]) -> "Transfers":
        table = np.array(rows, dtype=np.int64).reshape(-1, 3)
        return cls(table[:, 0], table[:, 1], table[:, 2])


class Swarm:
    """Servers are numbers from 0 on; the number of one that left is given to the next that comes."""

    def __init__(self, shards: int, *, limits: Limits, capacity: int = 64) -> None:
        self.shards = shards
        self.limits = limits
        self._free: list[int] = []
        self.size = 0
        width = -(-capacity // 8)
        self.has: Bits = np.zeros((shards, width), np.uint8)
        """Who has it, and may give it."""
        self.knows: Bits = np.zeros((shards, width), np.uint8)
        """Who has it or is getting it: nobody of those needs it."""
        self.copies: Numbers = np.zeros(shards, np.int64)
        """How many have it, and may give it."""
        self.owned: Numbers = np.zeros(width * 8, np.int64)
        """How many shards a server has."""
        self.downloads: Numbers = np.zeros(width * 8, np.int64)
        """How many more downloads a server may begin; nothing where there is no server."""
        self.uploads: Numbers = np.zeros(width * 8, np.int64)
        self.from_origin = np.zeros(shards, np.bool_)
        """What is on its way from the origin."""
        self.origin_slots = limits.origin
        self._is_there = np.zeros(width * 8, np.bool_)

    @property
    def capacity(self) -> int:
        return len(self.owned)

    @property
    def servers(self) -> Numbers:
        return np.flatnonzero(self._is_there)

    def is_complete(self, server: int) -> bool:
        return bool(self.owned[server] == self.shards)

    def join(self) -> int:
        """A server that has nothing yet; its number."""
        if self._free:
            server = self._free.pop()
        else:
            server = self.size
            self.size += 1
            if server >= self.capacity:
                self._grow()
        self._is_there[server] = True
        self.downloads[server] = self.limits.downloads
        self.uploads[server] = self.limits.uploads
        return server

    def leave(self, server: int) -> None:
        """Everything of it goes. Its transfers must have ended before."""
        self.know(server, np.zeros(self.shards, np.bool_))
        self._is_there[server] = False
        self.downloads[server] = self.uploads[server] = 0
        self._free.append(server)

    def know(
        self, server: int, owned: NDArray[np.bool_], *, coming: Sequence[int] = (), gives: bool = True
    ) -> None:
        """What a server has, in place of what was known of it; ``coming`` is what it is getting now.

        One that does not give keeps what it has to itself: nobody is sent to it, and its copies do not count.
        """
        byte, bit = server >> 3, server & 7
        given = owned if gives else np.zeros_like(owned)
        gave = ((self.has[:, byte] >> bit) & 1).astype(np.int64)
        self.copies += given.astype(np.int64) - gave
        self.owned[server] = np.count_nonzero(owned)
        known = owned.copy()
        known[list(coming)] = True
        for bitmap, bits in ((self.has, given), (self.knows, known)):
            keep = bitmap[:, byte] & np.uint8(0xFF ^ (1 << bit))
            bitmap[:, byte] = keep | (bits.astype(np.uint8) << np.uint8(bit))

    def begin(self, transfers: Transfers) -> None:
        """Take the slots of transfers that start now."""
        peer = transfers.sources != ORIGIN
        np.subtract.at(self.downloads, transfers.servers, 1)
        np.subtract.at(self.uploads, transfers.sources[peer], 1)
        self.origin_slots -= int(np.count_nonzero(~peer))
        self.from_origin[transfers.shards[~peer]] = True
        _set_bits(self.knows, transfers)

    def finish(self, transfers: Transfers) -> None:
        """They went well: free the slots, and count the copies."""
        self._free_slots(transfers)
        np.add.at(self.copies, transfers.shards, 1)
        np.add.at(self.owned, transfers.servers, 1)
        _set_bits(self.has, transfers)

    def give_up(self, transfers: Transfers) -> None:
        """They brought nothing: free the slots, and whoever wanted the shards wants them again."""
        self._free_slots(transfers)
        bits = np.left_shift(1, transfers.servers & 7).astype(np.uint8)
        np.bitwise_and.at(self.knows, (transfers.shards, transfers.servers >> 3), ~bits)

    def _free_slots(self, transfers: Transfers) -> None:
        peer = transfers.sources != ORIGIN
        np.add.at(self.downloads, transfers.servers, 1)
        np.add.at(self.uploads, transfers.sources[peer], 1)
        self.origin_slots += int(np.count_nonzero(~peer))
        self.from_origin[transfers.shards[~peer]] = False

    def _grow(self) -> None:
        more = self.has.shape[1]
        self.has, self.knows = (np.pad(bitmap, ((0, 0), (0, more))) for bitmap in (self.has, self.knows))
        self.owned, self.downloads, self.uploads = (
            np.pad(numbers, (0, more * 8)) for numbers in (self.owned, self.downloads, self.uploads)
        )
        self._is_there = np.pad(self._is_there, (0, more * 8))


def _set_bits(bitmap: Bits, transfers: Transfers) -> None:
    bits = np.left_shift(1, transfers.servers & 7).astype(np.uint8)
    np.bitwise_or.at(bitmap, (transfers.shards, transfers.servers >> 3), bits)
