"""Which transfers start now. Pure: the same swarm, the same waiting servers and the same dice, the same plan.

Rarest first, over everything that can start: a shard whose holders are all busy is passed over and holds up
nothing. Shards are taken one after the other, the one with the fewest copies first, and of each as many
transfers start as it has free holders and waiting servers that lack it. Taking them by shard and not by
server is what doubles a new shard in every round, and brings a whole swarm close to the best schedule
there is (docs/explanation/mesh.md).

* The origin gives out what nobody has and nobody is fetching.
* Among servers that lack a shard, who waits longest gets it; among its holders the dice choose.
* A pair that is ``barred`` is not put together: it has just failed.
* The plan is maximal: nothing of what could still start is left.
"""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet

import numpy as np
from numpy.typing import NDArray

from shoal.mesh.swarm import ORIGIN, Bits, Numbers, Swarm, Transfers

FEW = 16
"""Up to so many servers, it pays to look at what they lack, or can give, before going through the shards."""
FIRST_LOOK = 64

Pair = tuple[int, int]
"""A server and whom it shall not copy from."""


def plan(
    swarm: Swarm,
    waiting: Numbers,
    *,
    dice: np.random.Generator,
    barred: AbstractSet[Pair] = frozenset(),
) -> Transfers:
    """The transfers to begin. ``waiting`` names servers that want work, each once, longest first."""
    plan_ = _Plan(swarm, waiting, dice, barred)
    while plan_.began_more():
        pass
    return plan_.transfers()


class _Plan:
    """One plan in the making. The swarm stays as it is; what the plan takes of it is kept here."""

    def __init__(
        self, swarm: Swarm, waiting: Numbers, dice: np.random.Generator, barred: AbstractSet[Pair]
    ) -> None:
        self._swarm = swarm
        self._dice = dice
        self._barred = barred
        self._begun: list[tuple[Numbers, int, Numbers]] = []
        self._downloads = np.zeros(swarm.capacity, np.int64)
        self._downloads[waiting] = swarm.downloads[waiting]
        self._uploads = swarm.uploads.copy()
        self._origin_slots = swarm.origin_slots
        self._turn = np.zeros(swarm.capacity, np.int64)
        self._turn[waiting] = np.arange(len(waiting))
        self._knows: dict[int, Bits] = {}
        """Rows of the swarm's ``knows`` with what this plan has added."""

    def transfers(self) -> Transfers:
        if not self._begun:
            return Transfers.of([])
        servers, shards, sources = zip(*self._begun, strict=True)
        lengths = [len(one) for one in servers]
        return Transfers(
            np.concatenate(servers), np.repeat(np.array(shards), lengths), np.concatenate(sources)
        )

    def began_more(self) -> bool:
        """One pass: each server begins at most one download and one upload of what its limits leave."""
        before = len(self._begun)
        self._wanting = self._downloads > 0
        self._giving = self._uploads > 0
        if self._wanting.any() and self._origin_slots > 0:
            self._from_origin()
        if self._wanting.any() and self._giving.any():
            self._from_peers()
        return len(self._begun) > before

    def _from_origin(self) -> None:
        for shard in np.flatnonzero((self._swarm.copies == 0) & ~self._swarm.from_origin).tolist():
            lacking = self._lacking(shard)
            # Whoever is getting it gets it from a peer that left, or from the origin by this very plan.
            if len(lacking) and shard not in self._knows:
                self._origin_slots -= 1
                self._begin(shard, self._longest_waiting(lacking, 1), np.array([ORIGIN]))
                if self._origin_slots <= 0 or not self._wanting.any():
                    return

    def _from_peers(self) -> None:
        for shard in self._candidates():
            holders = _servers(self._swarm.has[shard] & _packed(self._giving))
            lacking = self._lacking(shard) if len(holders) else holders
            if not len(lacking):
                continue
            if self._barred:
                self._pair_up(shard, lacking, holders)
            else:
                number = min(len(lacking), len(holders))
                self._begin(shard, self._longest_waiting(lacking, number), self._drawn(holders, number))
            if not self._wanting.any() or not self._giving.any():
                return

    def _pair_up(self, shard: int, lacking: Numbers, holders: Numbers) -> None:
        """One by one, as some may not copy from each other."""
        free = self._drawn(holders, len(holders)).tolist()
        for server in self._longest_waiting(lacking, len(lacking)).tolist():
            source = next((one for one in free if (server, one) not in self._barred), None)
            if source is not None:
                free.remove(source)
                self._begin(shard, np.array([server]), np.array([source]))

    def _begin(self, shard: int, servers: Numbers, sources: Numbers) -> None:
        self._begun.append((servers, shard, sources))
        self._wanting[servers] = False
        self._downloads[servers] -= 1
        if sources[0] != ORIGIN:
            self._giving[sources] = False
            self._uploads[sources] -= 1
        added = np.zeros(self._swarm.capacity, np.bool_)
        added[servers] = True
        self._knows[shard] = self._known(shard) | _packed(added)

    def _known(self, shard: int) -> Bits:
        known = self._knows.get(shard)
        return self._swarm.knows[shard] if known is None else known

    def _lacking(self, shard: int) -> Numbers:
        """Who waits and neither has the shard nor is getting it."""
        return _servers(_packed(self._wanting) & ~self._known(shard))

    def _longest_waiting(self, servers: Numbers, number: int) -> Numbers:
        return _least(servers, self._turn[servers], number)

    def _drawn(self, servers: Numbers, number: int) -> Numbers:
        return _least(servers, self._dice.random(len(servers)), number)

    def _candidates(self) -> Iterator[int]:
        """Shards that somebody may have to give and somebody may lack, the rarest first, equals shuffled."""
        there = self._swarm.copies > 0
        wanting, giving = np.flatnonzero(self._wanting), np.flatnonzero(self._giving)
        if len(wanting) <= FEW:
            there &= ~np.logical_and.reduce([_column(self._swarm.knows, one) for one in wanting])
        if len(giving) <= FEW:
            there &= np.logical_or.reduce([_column(self._swarm.has, one) for one in giving])
        shards = np.flatnonzero(there)
        return _by_rarity(shards, self._swarm.copies[shards] + self._dice.random(len(shards)))


def _by_rarity(shards: Numbers, keys: NDArray[np.float64]) -> Iterator[int]:
    """In order of the keys. Mostly the first few are enough: the rest is sorted when it is asked for."""
    if len(shards) > FIRST_LOOK:
        near = np.argpartition(keys, FIRST_LOOK)
        first, rest = near[:FIRST_LOOK], near[FIRST_LOOK:]
        yield from shards[first[np.argsort(keys[first])]].tolist()
        shards, keys = shards[rest], keys[rest]
    yield from shards[np.argsort(keys)].tolist()


def _least(servers: Numbers, keys: NDArray[np.generic], number: int) -> Numbers:
    """So many of them, those with the least keys, in order."""
    if number < len(servers):
        near = np.argpartition(keys, number - 1)[:number]
        servers, keys = servers[near], keys[near]
    return servers[np.argsort(keys)]


def _packed(servers: NDArray[np.bool_]) -> Bits:
    return np.packbits(servers, bitorder="little")


def _servers(row: Bits) -> Numbers:
    return np.flatnonzero(np.unpackbits(row, bitorder="little"))


def _column(bitmap: Bits, server: np.int64) -> NDArray[np.bool_]:
    bit = np.uint8(1 << int(server & 7))
    return np.asarray((bitmap[:, server >> 3] & bit) != 0)
