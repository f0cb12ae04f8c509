"""The coordinator's hold on the ledger: one of several works, on one task after the other.

* Whoever holds the lease in the brain is the active one. It goes on with the task that is held already, under
  its claim token: the coordinator before it may have died in the middle.
* A task that is not held any more (its job was cancelled) ends the push.
* What came of a push is completed under the token; said twice, it is the same.
"""

import asyncio
from contextlib import suppress
from dataclasses import asdict, dataclass
from uuid import UUID

import asyncpg
import msgspec
import structlog
from redis.exceptions import RedisError

from shoal.brain.connection import Brain
from shoal.brain.leases import Lease
from shoal.ledger.pool import Ledger
from shoal.mesh.coordinator import Coordinator
from shoal.mesh.looks import look_at, show
from shoal.mesh.model import Ended, Push
from shoal.mesh.publishing import load_manifest
from shoal.mesh.service import sql
from shoal.mesh.settings import CoordinatorSettings
from shoal.runtime.errors import ShoalError, Unavailable
from shoal.runtime.lifecycle import Part
from shoal.vault.store import Vault
from shoal.wire.mesh import PushInput

log = structlog.get_logger(__name__)

LEASE = "{mesh}:coordinator"
TURN_S = 0.25
SHOW_EVERY = 2
NOTE_EVERY = 8
LOOK_AT_LEAST_EVERY_S = 5.0


@dataclass
class Held:
    task_id: UUID
    claim_token: UUID
    ended: Ended | None = None


class Pushes(Part):
    name = "mesh pushes"

    def __init__(
        self,
        settings: CoordinatorSettings,
        coordinator: Coordinator,
        *,
        ledger: Ledger,
        vault: Vault,
        lease: Lease,
        brain: Brain,
        woken: asyncio.Event,
    ) -> None:
        self.address = ""
        self._settings = settings
        self._coordinator = coordinator
        self._ledger = ledger
        self._vault = vault
        self._lease = lease
        self._brain = brain
        self._woken = woken
        self._held: Held | None = None
        self._was_active = False
        self._next_look = 0.0
        self._stopping = asyncio.Event()

    @property
    def is_active(self) -> bool:
        return self._lease.epoch is not None

    async def run(self) -> None:
        turn = 0
        while not self._stopping.is_set():
            turn += 1
            try:
                await self._turn(turn)
            except (ShoalError, OSError, RedisError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
                log.warning("the coordinator's stores do not answer", error=str(error))
            with suppress(TimeoutError):
                async with asyncio.timeout(TURN_S):
                    await self._stopping.wait()

    async def stop(self) -> None:
        self._stopping.set()
        with suppress(RedisError, OSError, ShoalError):
            await self._lease.release()

    async def _turn(self, turn: int) -> None:
        if turn % NOTE_EVERY == 1 or not self.is_active:
            await self._lease.hold()
        if not self.is_active:
            if self._was_active:
                self._stand_back()
            return
        if not self._was_active:
            self._was_active = True
            self._coordinator.listen_first()
        self._coordinator.tick()
        if turn % SHOW_EVERY == 0:
            await show(self._brain.client, look_at(self._coordinator, address=self.address))
        if self._held is None:
            await self._take()
        elif self._held.ended is not None:
            await self._complete(self._held, self._held.ended)
        elif turn % NOTE_EVERY == 0:
            await self._note(self._held)

    def _stand_back(self) -> None:
        """Another is the active one now: what runs is its business."""
        self._was_active = False
        self._held = None
        self._coordinator.forget()

    async def _take(self) -> None:
        now = asyncio.get_running_loop().time()
        if not self._woken.is_set() and now < self._next_look:
            return
        self._woken.clear()
        self._next_look = now + LOOK_AT_LEAST_EVERY_S
        async with self._ledger.connection() as connection:
            row = await sql.read_mesh_task.row(connection)
            if row is None and await sql.claim_mesh_task.value(connection) is not None:
                row = await sql.read_mesh_task.row(connection)
        if row is None:
            return
        held = self._held = Held(row["id"], row["claim_token"])
        try:
            given = msgspec.convert(row["input"], PushInput)
            data_set, body = await load_manifest(self._vault, given.data_set_id)
        except Unavailable:
            self._held = None
            raise
        except (ShoalError, msgspec.ValidationError) as error:
            await self._fail(held, str(error))
            return
        push = Push(
            job_id=str(row["job_id"]),
            data_set_id=given.data_set_id,
            data_set=data_set,
            body=body,
            to=tuple(given.to),
            deadline_s=given.deadline_s or self._settings.mesh_deadline_s,
        )

        def on_end(ended: Ended) -> None:
            held.ended = ended

        self._coordinator.begin(push, on_end)

    async def _note(self, held: Held) -> None:
        active = self._coordinator.active
        if active is None:
            return
        progress = active.progress()
        message = f"{progress.complete} of {progress.servers} servers have everything"
        async with self._ledger.connection() as connection:
            still = await sql.note_mesh_progress.value(
                connection,
                task_id=held.task_id,
                claim_token=held.claim_token,
                progress=progress.share,
                message=message,
            )
        if still is None:
            log.info("push given up: its task is not held any more", job=active.push.job_id)
            self._coordinator.end()
            self._held = None

    async def _complete(self, held: Held, ended: Ended) -> None:
        if not ended.complete:
            await self._fail(held, "Not one server has everything, and the time is over.")
            return
        output = asdict(ended) | {"seconds": round(ended.seconds, 3)}
        async with self._ledger.connection() as connection:
            await sql.complete_mesh_task.value(
                connection, task_id=held.task_id, claim_token=held.claim_token, output=output
            )
        log.info("push complete", job=ended.job_id, servers=len(ended.complete), missing=len(ended.missing))
        self._held = None

    async def _fail(self, held: Held, why: str) -> None:
        async with self._ledger.connection() as connection:
            await sql.fail_mesh_task.value(
                connection, task_id=held.task_id, claim_token=held.claim_token, error=why
            )
        log.warning("push failed", error=why)
        self._held = None
