"""The active push: its swarm, by the ids of servers, and who belongs to its goal."""

from collections.abc import Iterable

import numpy as np

from shoal.mesh.model import Ended, Progress, Push, Server, Transfer
from shoal.mesh.planner import plan
from shoal.mesh.rules import bar_s, fits, is_chosen
from shoal.mesh.swarm import ORIGIN, Limits, Swarm, Transfers

SETTLING_S = 1.0
"""Who comes within that time after the first server still belongs to the goal."""


class Distribution:
    def __init__(
        self, push: Push, *, limits: Limits, now: float, settled_from: float = 0, seed: int = 0
    ) -> None:
        """``settled_from``: who comes before belongs to the goal. A coordinator that starts hears first."""
        self.push = push
        self.goal: set[str] = set()
        self.from_origin = self.from_peers = 0
        self.bytes_from_origin = self.bytes_from_peers = 0
        self.began = now
        self._settled_from = settled_from
        self._settled_at: float | None = None
        self._swarm = Swarm(len(push.data_set.shards), limits=limits)
        self._number: dict[str, int] = {}
        self._id: dict[int, str] = {}
        self._lacking: set[str] = set()
        """Who of the goal does not have everything."""
        self._silent: set[str] = set()
        self._barred: dict[tuple[str, str], float] = {}
        self._failures: dict[tuple[str, str], int] = {}
        self._attempts: dict[int, int] = {}
        self._dice = np.random.default_rng(seed)

    def knows(self, server_id: str) -> bool:
        return server_id in self._number

    def learn(self, server: Server, owned: bytes | None, *, gives: bool, now: float) -> None:
        """What the server has of the data set; None: nothing, since it speaks of another job."""
        shards = len(self.push.data_set.shards)
        if owned is None or not fits(owned, shards):
            owned = bytes(-(-shards // 8))
        if server.id not in self._number:
            self._join(server, now)
        bits = np.unpackbits(np.frombuffer(owned, np.uint8), count=shards, bitorder="little")
        coming = [one.shard for one in server.transfers.values()]
        if gives:
            self._silent.discard(server.id)
        else:
            self._silent.add(server.id)
        self._swarm.know(self._number[server.id], bits.astype(np.bool_), coming=coming, gives=gives)
        self._note_completeness(server.id)

    def doubt(self, server_id: str, shard: int) -> None:
        """It said that it has the shard and did not give it: it has not, until it says so again."""
        number = self._number.get(server_id)
        if number is not None and server_id not in self._silent:
            owned, coming = self._owned(number), self._coming(number)
            owned[shard] = False
            self._swarm.know(number, owned, coming=coming)
            self._note_completeness(server_id)

    def silence(self, server_id: str) -> None:
        """Nobody copies from it any more, and its copies count for nothing."""
        number = self._number[server_id]
        owned, coming = self._owned(number), self._coming(number)
        self._silent.add(server_id)
        self._swarm.know(number, owned, coming=coming, gives=False)

    def forget(self, server_id: str, *, comes_back: bool = False) -> None:
        """It is gone. Its transfers have been given up before. One that comes back stays in the goal."""
        if (number := self._number.pop(server_id, None)) is not None:
            del self._id[number]
            self._swarm.leave(number)
        self._silent.discard(server_id)
        if not comes_back:
            self.goal.discard(server_id)
        self._note_completeness(server_id)

    def assign(self, waiting: Iterable[Server], *, now: float) -> list[Transfer]:
        """What starts now, of what these servers, longest waiting first, could do."""
        self._barred = {pair: until for pair, until in self._barred.items() if until > now}
        numbers = [self._number[one.id] for one in waiting if one.id in self._number]
        barred = {
            (self._number[pair[0]], self._number[pair[1]])
            for pair in self._barred
            if pair[0] in self._number and pair[1] in self._number
        }
        begun = plan(self._swarm, np.array(numbers, np.int64), dice=self._dice, barred=barred)
        self._swarm.begin(begun)
        rows = zip(begun.servers.tolist(), begun.shards.tolist(), begun.sources.tolist(), strict=True)
        return [self._transfer(server, shard, source, now) for server, shard, source in rows]

    def adopt(self, transfer: Transfer) -> bool:
        """A transfer that a coordinator before us began, if there is room for it here."""
        number = self._number.get(transfer.server_id)
        source = self._number.get(transfer.source_id) if transfer.source_id else ORIGIN
        swarm = self._swarm
        if number is None or source is None or not 0 <= transfer.shard < swarm.shards:
            return False
        knows = bool(swarm.knows[transfer.shard, number >> 3] >> (number & 7) & 1)
        busy = swarm.origin_slots < 1 if source == ORIGIN else swarm.uploads[source] < 1
        if knows or busy or swarm.downloads[number] < 1:
            return False
        if source == ORIGIN and (swarm.copies[transfer.shard] or swarm.from_origin[transfer.shard]):
            return False
        swarm.begin(Transfers.of([(number, transfer.shard, source)]))
        return True

    def finish(self, transfer: Transfer, received: int) -> None:
        self._swarm.finish(self._row(transfer))
        self._note_completeness(transfer.server_id)
        self._failures.pop((transfer.server_id, transfer.source_id), None)
        if transfer.source_id:
            self.from_peers += 1
            self.bytes_from_peers += received
        else:
            self.from_origin += 1
            self.bytes_from_origin += received

    def give_up(self, transfer: Transfer) -> None:
        self._swarm.give_up(self._row(transfer))

    def bar(self, transfer: Transfer, outcome: str, *, now: float) -> None:
        """These two are not put together for a while."""
        if transfer.source_id:
            pair = (transfer.server_id, transfer.source_id)
            self._failures[pair] = self._failures.get(pair, 0) + 1
            self._barred[pair] = now + bar_s(outcome, self._failures[pair])

    def next_end_of_a_bar(self) -> float | None:
        return min(self._barred.values(), default=None)

    def is_complete(self, server_id: str) -> bool:
        number = self._number.get(server_id)
        return number is not None and self._swarm.is_complete(number)

    def is_reached(self, now: float) -> bool:
        """Whether everybody of the goal has everything. There must be somebody, and time for others."""
        settled = self._settled_at is not None and now >= self._settled_at
        return settled and bool(self.goal) and not self._lacking

    def is_late(self, now: float) -> bool:
        return bool(self.push.deadline_s) and now >= self.began + self.push.deadline_s

    def progress(self) -> Progress:
        numbers = [self._number[one] for one in self.goal if one in self._number]
        owned = self._swarm.owned[numbers]
        shards = self._swarm.shards
        return Progress(
            servers=len(self.goal),
            complete=int(np.count_nonzero(owned == shards)),
            copies=int(owned.sum()),
            wanted=len(self.goal) * shards,
        )

    def owned_of(self, server_id: str) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """What the server has, by shard; for those who look at it."""
        return self._owned(self._number[server_id])

    def ended(self, now: float) -> Ended:
        complete = {one for one in self.goal if self.is_complete(one)}
        return Ended(
            job_id=self.push.job_id,
            complete=tuple(sorted(complete)),
            missing=tuple(sorted(self.goal - complete)),
            from_origin=self.from_origin,
            from_peers=self.from_peers,
            bytes_from_origin=self.bytes_from_origin,
            bytes_from_peers=self.bytes_from_peers,
            seconds=now - self.began,
        )

    def _join(self, server: Server, now: float) -> None:
        number = self._number[server.id] = self._swarm.join()
        self._id[number] = server.id
        if not is_chosen(self.push.to, server.id, server.labels):
            self._swarm.downloads[number] = 0
            return
        if self._settled_at is None:
            self._settled_at = max(now + SETTLING_S, self._settled_from)
        if now < self._settled_at or not self.goal:
            self.goal.add(server.id)

    def _note_completeness(self, server_id: str) -> None:
        if server_id in self.goal and not self.is_complete(server_id):
            self._lacking.add(server_id)
        else:
            self._lacking.discard(server_id)

    def _owned(self, number: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Of one that is silent, also what it is getting: nobody is sent to it either way."""
        rows = self._swarm.knows if self._id[number] in self._silent else self._swarm.has
        return np.asarray((rows[:, number >> 3] >> (number & 7) & 1) != 0)

    def _coming(self, number: int) -> list[int]:
        known = self._swarm.knows[:, number >> 3] & ~self._swarm.has[:, number >> 3]
        return list(np.flatnonzero(known >> (number & 7) & 1).tolist())

    def _transfer(self, server: int, shard: int, source: int, now: float) -> Transfer:
        attempt = self._attempts[shard] = self._attempts.get(shard, 0) + 1
        return Transfer(
            id=f"{self.push.job_id}.{shard}.{attempt}.{self._dice.integers(2**63):x}",
            server_id=self._id[server],
            shard=shard,
            source_id="" if source == ORIGIN else self._id[source],
            source_address="",
            attempt=attempt,
            began=now,
            renewed=now,
            lease_s=0,
        )

    def _row(self, transfer: Transfer) -> Transfers:
        source = self._number[transfer.source_id] if transfer.source_id else ORIGIN
        return Transfers.of([(self._number[transfer.server_id], transfer.shard, source)])
