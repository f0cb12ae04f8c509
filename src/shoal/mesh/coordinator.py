"""Who does what next: polls that wait, transfers with leases, and the one push that is active.

Everything happens in one event loop, between two awaits. What came together is planned together.

A transfer ends in one of these ways, and each frees both ends at once:

* its server says how it went, or shows in a poll that it is not at it any more;
* its lease ends: no progress was heard of;
* its server or its source is silent for too long, leaves, or comes anew with another epoch;
* its poll was cancelled before the answer got out.
"""

import asyncio
from collections.abc import Callable, Iterable
from uuid import uuid4

import structlog

from shoal.mesh.distribution import Distribution
from shoal.mesh.measures import CoordinatorMeasures
from shoal.mesh.model import Ended, Push, Server, Status, Transfer, Work
from shoal.mesh.rules import gives, is_chosen, is_liar
from shoal.mesh.settings import CoordinatorSettings
from shoal.mesh.swarm import Limits
from shoal.runtime.clock import Clock
from shoal.runtime.errors import Conflict, NotFound

log = structlog.get_logger(__name__)

SIMPLE_LEASE_S = 300.0
"""Of clients that say nothing about progress."""
SIMPLE_DEAD_AFTER_S = 90.0
FULL_S = 30.0


class Coordinator:
    def __init__(self, settings: CoordinatorSettings, clock: Clock, measures: CoordinatorMeasures) -> None:
        self.epoch = uuid4().hex
        self.servers: dict[str, Server] = {}
        self.active: Distribution | None = None
        self._settings = settings
        self._clock = clock
        self._measures = measures
        self._waiting: dict[str, Server] = {}
        """Who has a poll that was not answered, longest waiting first; some of them have died since."""
        self._transfers: dict[str, Transfer] = {}
        self._cancelled: dict[str, set[str]] = {}
        """What a server must stop, or stop giving out, and hears of with its next heartbeat."""
        self._ready_at = clock.monotonic() + settings.mesh_relearn_s
        self._is_planning = False
        self._on_end: Callable[[Ended], None] | None = None

    # The push

    def begin(self, push: Push, on_end: Callable[[Ended], None]) -> None:
        """Make it the active one. What was active before is not served any more."""
        self.end()
        now = self._clock.monotonic()
        limits = Limits(uploads=self._settings.mesh_uploads, origin=self._settings.mesh_origin_slots)
        self.active = Distribution(push, limits=limits, now=now, settled_from=self._ready_at)
        self._on_end = on_end
        log.info("push begun", job=push.job_id, name=push.data_set.name, shards=len(push.data_set.shards))
        for server in self.servers.values():
            self._look(server)

    def end(self) -> None:
        """Nothing is active: what runs is cut."""
        for transfer in list(self._transfers.values()):
            self._cut(transfer)
        self.active = self._on_end = None

    def listen_first(self) -> None:
        """For a while nothing is given out: what servers have and are at is heard first."""
        self._ready_at = self._clock.monotonic() + self._settings.mesh_relearn_s

    def forget(self) -> None:
        """Another coordinator has taken over: polls are sent on to it, and nothing here is true any more."""
        self.active = self._on_end = None
        for server in self.servers.values():
            if server.poll is not None:
                server.poll.cancel()
        self.servers.clear()
        self._transfers.clear()
        self._cancelled.clear()

    # What servers say

    def poll(self, status: Status) -> "asyncio.Future[Work]":
        """A future that has work when there is some. Of one server the last poll counts."""
        now = self._clock.monotonic()
        server = self._meet(status, now)
        if server.poll is not None and not server.poll.done():
            server.poll.cancel()
        server.poll = asyncio.get_running_loop().create_future()
        server.asked = now
        self._waiting.pop(server.id, None)
        self._waiting[server.id] = server
        for transfer in [one for key, one in server.transfers.items() if key not in status.running]:
            self._settle_by_inventory(transfer, status)
        self._hear(server, status)
        self._look(server)
        self._plan_soon()
        return server.poll

    def tell(self, status: Status) -> None:
        """What a server has, out of turn: it is busy, and asks for work only later."""
        now = self._clock.monotonic()
        self._hear(self._meet(status, now), status)
        self._plan_soon()

    def needs_status(self, server_id: str) -> bool:
        """Whether a server should say what it has without being asked for work: nobody knows it yet."""
        if self.active is None:
            return server_id not in self.servers
        return not self.active.knows(server_id) and not self._is_waiting(server_id)

    def drop_poll(self, server_id: str, poll: "asyncio.Future[Work]") -> None:
        """Whoever waited has gone. What it was given and never heard of is free again."""
        server = self.servers.get(server_id)
        if poll.done() and not poll.cancelled() and (transfer := poll.result().transfer) is not None:
            self._cut(transfer)
        poll.cancel()
        if server is not None and server.poll is poll:
            server.poll = None
        self._plan_soon()

    def complete(
        self, server_id: str, *, task_id: str, job_id: str, shard: int, outcome: str, received: int
    ) -> None:
        """How a transfer ended. Only the one that is meant: what ended before is not heard of again."""
        server = self.servers.get(server_id)
        if server is None:
            return
        if not task_id:  # a simple client has one transfer, and names it by its shard
            task_id = next((key for key, one in server.transfers.items() if one.shard == shard), "")
        transfer = server.transfers.get(task_id)
        if transfer is None or self.active is None or job_id != self.active.push.job_id:
            return
        if transfer.shard != shard:
            return
        server.heard = self._clock.monotonic()
        if outcome == "SUCCEEDED":
            self._finish(transfer, received)
        else:
            self._fail(transfer, outcome)
        self._plan_soon()

    def heartbeat(
        self,
        server_id: str,
        *,
        downloads: Iterable[tuple[str, int, str, int, str]],
        uploads: Iterable[tuple[str, int]],
        leaving: bool,
    ) -> list[str]:
        """Renew what makes progress; what the server shall stop. (Task, bytes, job, shard, source.)"""
        now = self._clock.monotonic()
        server = self.servers.get(server_id)
        if leaving:
            if server is not None:
                self._lose(server, "left")
            return []
        if server is not None:
            server.heard = now
        stop = self._cancelled.pop(server_id, set())
        for task_id, count, job_id, shard, source in downloads:
            transfer = self._transfers.get(task_id)
            if transfer is None and server is not None:
                transfer = self._adopt(server, task_id, job_id=job_id, shard=shard, source=source)
            if transfer is None:
                # A coordinator that just started may not know the server yet: then it is not stopped.
                if server is not None and now >= self._ready_at:
                    stop.add(task_id)
            elif transfer.server_id == server_id and count > transfer.bytes:
                transfer.bytes, transfer.renewed = count, now
        if now >= self._ready_at:
            stop |= {task_id for task_id, _ in uploads if task_id not in self._transfers}
        return sorted(stop)

    def manifest(self, job_id: str) -> Push:
        if self.active is None or (job_id and job_id != self.active.push.job_id):
            raise NotFound("job_not_active", "That job is not the active one.", hint="Ask for work again.")
        return self.active.push

    # Time

    def tick(self) -> None:
        """What only time brings: leases and servers that end, bars that are over, deadlines."""
        now = self._clock.monotonic()
        for transfer in list(self._transfers.values()):
            if now >= transfer.renewed + transfer.lease_s:
                self._measures.leases_lost.inc()
                log.warning("transfer stalled", task=transfer.id, source=transfer.source_id or "origin")
                self._cut(transfer)
                if self.active is not None:
                    self.active.bar(transfer, "STALLED", now=now)
        for server in list(self.servers.values()):
            dead_after = self._settings.mesh_dead_after_s if server.is_ours else SIMPLE_DEAD_AFTER_S
            if now >= server.heard + dead_after:
                self._lose(server, "silent")
        self._plan_soon()

    # The inside

    def _meet(self, status: Status, now: float) -> Server:
        server = self.servers.get(status.server_id)
        if server is not None and status.epoch < server.epoch:
            raise Conflict("server_is_older", "This server has started anew since: the poll is an old one.")
        if server is not None and server.epoch != status.epoch:
            self._lose(server, "came anew", comes_back=True)  # what it was at ended with its process
            server = None
        if server is None:
            for other in [one for one in self.servers.values() if one.address == status.address]:
                self._lose(other, "another server has its address")
            server = self.servers[status.server_id] = Server(status.server_id, status.address, now)
            log.info("server joined", server=server.id, address=server.address)
        server.address, server.epoch, server.labels = status.address, status.epoch, status.labels
        server.heard, server.is_ours = now, status.is_ours
        return server

    def _hear(self, server: Server, status: Status) -> None:
        if self.active is None:
            return
        if status.job_id == self.active.push.job_id:
            self._learn(server, status.owned)
        elif not status.is_ours:
            self._learn(server, None)

    def _is_waiting(self, server_id: str) -> bool:
        server = self.servers.get(server_id)
        return server is not None and server.poll is not None and not server.poll.done()

    def _learn(self, server: Server, owned: bytes | None) -> None:
        if self.active is not None:
            self.active.learn(server, owned, gives=self._gives(server), now=self._clock.monotonic())

    def _look(self, server: Server) -> None:
        """Tell who waits which job is the active one. It comes back with what it has of it."""
        if self.active is None or self.active.knows(server.id) or not self._is_waiting(server.id):
            return
        if not server.is_ours:
            self._learn(server, None)
        elif server.poll is not None and is_chosen(self.active.push.to, server.id, server.labels):
            server.poll.set_result(Work(self.active.push))

    def _plan_soon(self) -> None:
        if not self._is_planning:
            self._is_planning = True
            asyncio.get_running_loop().call_soon(self._plan)

    def _plan(self) -> None:
        self._is_planning = False
        active, now = self.active, self._clock.monotonic()
        if active is None or now < self._ready_at:
            return
        self._waiting = {one.id: one for one in self._waiting.values() if self._is_waiting(one.id)}
        waiting = [one for one in self._waiting.values() if self._waits(one, now)]
        for transfer in active.assign(waiting, now=now) if waiting else ():
            server = self.servers[transfer.server_id]
            transfer.lease_s = self._settings.mesh_lease_s if server.is_ours else SIMPLE_LEASE_S
            if transfer.source_id:
                transfer.source_address = self.servers[transfer.source_id].address
            self._transfers[transfer.id] = server.transfers[transfer.id] = transfer
            self._measures.waited(now - server.asked)
            if server.poll is not None:
                server.poll.set_result(Work(active.push, transfer))
        if self._on_end is not None and (active.is_reached(now) or active.is_late(now)):
            ended, told = active.ended(now), self._on_end
            self._on_end = None  # whoever comes late is served until the next push begins
            self._measures.push_ended(ended)
            told(ended)

    def _waits(self, server: Server, now: float) -> bool:
        if server.transfers or now < server.full_until or self.active is None:
            return False
        return not self.active.is_complete(server.id)

    def _settle_by_inventory(self, transfer: Transfer, status: Status) -> None:
        """The server is not at it any more: it has the shard, or the transfer came to nothing."""
        byte, bit = divmod(transfer.shard, 8)
        is_active = self.active is not None and status.job_id == self.active.push.job_id
        if is_active and byte < len(status.owned) and status.owned[byte] >> bit & 1:
            self._finish(transfer, 0)
        else:
            self._cut(transfer)

    def _finish(self, transfer: Transfer, received: int) -> None:
        self._remove(transfer)
        if self.active is not None:
            self.active.finish(transfer, received)
        self._measures.transfer_ended(transfer, "SUCCEEDED", received)

    def _fail(self, transfer: Transfer, outcome: str) -> None:
        now = self._clock.monotonic()
        self._measures.transfer_ended(transfer, outcome, 0)
        self._remove(transfer)
        if self.active is None:
            return
        self.active.give_up(transfer)
        if outcome == "NO_ROOM":
            self.servers[transfer.server_id].full_until = now + FULL_S
        elif outcome != "ABANDONED":
            self.active.bar(transfer, outcome, now=now)
        if outcome == "REFUSED" and transfer.source_id:
            self.active.doubt(transfer.source_id, transfer.shard)
        if outcome == "CORRUPT" and transfer.source_id:
            self._blame(self.servers[transfer.server_id], self.servers[transfer.source_id])

    def _blame(self, accuser: Server, accused: Server) -> None:
        accused.accusers.add(accuser.id)
        accuser.accused.add(accused.id)
        log.warning("wrong bytes", server=accused.id, address=accused.address, told_by=accuser.id)
        if not self._gives(accused) and self.active is not None and self.active.knows(accused.id):
            self._measures.quarantined.inc()
            self.active.silence(accused.id)

    def _gives(self, server: Server) -> bool:
        liars = {
            one
            for one in server.accusers
            if (found := self.servers.get(one)) is not None
            and is_liar(found.accused, confirmed=self._confirmed(found))
        }
        return gives(server.accusers, liars=liars)

    def _confirmed(self, accuser: Server) -> set[str]:
        """Of those it accuses, whom somebody else accuses as well."""
        return {
            one
            for one in accuser.accused
            if (accused := self.servers.get(one)) is not None and accused.accusers - {accuser.id}
        }

    def _adopt(
        self, server: Server, task_id: str, *, job_id: str, shard: int, source: str
    ) -> Transfer | None:
        """A transfer that an earlier coordinator began goes on, as long as we give out nothing ourselves."""
        active, now = self.active, self._clock.monotonic()
        if active is None or job_id != active.push.job_id or now >= self._ready_at:
            return None
        source_id = next((one.id for one in self.servers.values() if one.address == source), "")
        if source and not source_id:
            return None
        lease_s = self._settings.mesh_lease_s
        transfer = Transfer(task_id, server.id, shard, source_id, source, 0, now, now, lease_s)
        if not active.adopt(transfer):
            return None
        self._transfers[task_id] = server.transfers[task_id] = transfer
        return transfer

    def _cut(self, transfer: Transfer) -> None:
        """Give it up, and tell both ends to stop."""
        self._remove(transfer)
        for end in (transfer.server_id, transfer.source_id):
            if end:
                self._cancelled.setdefault(end, set()).add(transfer.id)
        if self.active is not None:
            self.active.give_up(transfer)

    def _remove(self, transfer: Transfer) -> None:
        del self._transfers[transfer.id]
        if (server := self.servers.get(transfer.server_id)) is not None:
            server.transfers.pop(transfer.id, None)

    def _lose(self, server: Server, why: str, *, comes_back: bool = False) -> None:
        log.info("server gone", server=server.id, address=server.address, why=why)
        for transfer in list(self._transfers.values()):
            if server.id in (transfer.server_id, transfer.source_id):
                self._cut(transfer)
        if server.poll is not None:
            server.poll.cancel()
        if self.active is not None:
            self.active.forget(server.id, comes_back=comes_back)
        del self.servers[server.id]
        self._cancelled.pop(server.id, None)
        self._plan_soon()
