"""The service Scheduler: agents ask it for work."""

import asyncio
import hmac
import time
from collections.abc import Awaitable, Callable

from shoal.mesh.coordinator import Coordinator
from shoal.mesh.model import Status, Work
from shoal.rpc.errors import Context, abort
from shoal.runtime.errors import Conflict, Invalid, NotFound, ShoalError, Unauthenticated, Unavailable
from shoal.runtime.tickets import Ticket, TicketSigner
from shoal.wire._generated.scheduler_pb2 import (
    Empty,
    HeartbeatRequest,
    HeartbeatResponse,
    Manifest,
    ManifestRequest,
    ServerStatus,
    TransferTask,
    TransferTaskComplete,
)

TICKET_S = 120
LONGEST_NAME = 255
MOST_LABELS = 64
MOST_TRANSFERS = 64

Link = Callable[[str], Awaitable[str]]
"""A URL under which the origin gives out the shard with this hash, for a while."""


class SchedulerServicer:
    """``is_active``: of several coordinators, one works; the others send agents on."""

    def __init__(
        self,
        coordinator: Coordinator,
        *,
        token: str,
        signer: TicketSigner,
        link: Link,
        is_active: Callable[[], bool],
    ) -> None:
        self._coordinator = coordinator
        self._expected = f"Bearer {token}".encode()
        self._signer = signer
        self._link = link
        self._is_active = is_active

    async def getWork(self, request: ServerStatus, context: Context) -> TransferTask:  # noqa: N802 - as in proto
        self_id = request.server_id or request.server_address
        try:
            self._admit(context)
            poll = self._coordinator.poll(_read_status(request))
        except ShoalError as error:
            await abort(context, error)
        try:
            return await self._message(await poll, self_id)
        except asyncio.CancelledError:
            self._coordinator.drop_poll(self_id, poll)
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            await abort(context, Conflict("poll_replaced", "A later poll of this server took its place."))
        except ShoalError as error:
            self._coordinator.drop_poll(self_id, poll)
            await abort(context, error)

    async def reportTransferTaskCompletion(  # noqa: N802 - as in proto
        self, request: TransferTaskComplete, context: Context
    ) -> Empty:
        try:
            self._admit(context)
            self._coordinator.complete(
                request.server_id or request.server_address,
                task_id=request.task_id,
                job_id=request.job_id,
                shard=request.shard_id,
                outcome=_outcome(request.outcome),
                received=request.bytes_received,
            )
        except ShoalError as error:
            await abort(context, error)
        return Empty()

    async def heartbeat(self, request: HeartbeatRequest, context: Context) -> HeartbeatResponse:
        self_id = request.server_id or request.server_address
        try:
            self._admit(context)
            if len(request.downloads) > MOST_TRANSFERS or len(request.uploads) > MOST_TRANSFERS:
                raise Invalid("too_many_transfers", f"A server names at most {MOST_TRANSFERS} transfers.")
            if request.HasField("status") and not request.leaving:
                status = _read_status(request.status)
                if status.server_id != self_id:
                    raise Invalid("server_malformed", "The status is of another server.")
                self._coordinator.tell(status)
            stop = self._coordinator.heartbeat(
                self_id,
                downloads=[
                    (one.task_id, one.bytes, one.job_id, one.shard_id, one.upstream_server_addr)
                    for one in request.downloads
                ],
                uploads=[(one.task_id, one.bytes) for one in request.uploads],
                leaving=request.leaving,
            )
        except ShoalError as error:
            await abort(context, error)
        active = self._coordinator.active
        return HeartbeatResponse(
            active_job_id=active.push.job_id if active else "",
            coordinator_epoch=self._coordinator.epoch,
            cancelled_task_ids=stop,
            ticket_key=self._signer.public_key,
            tell_status=not request.leaving and self._coordinator.needs_status(self_id),
        )

    async def getManifest(self, request: ManifestRequest, context: Context) -> Manifest:  # noqa: N802 - as in proto
        try:
            self._admit(context)
            push = self._coordinator.manifest(request.job_id)
        except ShoalError as error:
            await abort(context, error)
        return Manifest(job_id=push.job_id, data_set_id=push.data_set_id, body=push.body)

    def _admit(self, context: Context) -> None:
        shown = next(
            (value for key, value in context.invocation_metadata() or () if key == "authorization"), ""
        )
        if not hmac.compare_digest(shown.encode() if isinstance(shown, str) else shown, self._expected):
            raise Unauthenticated(
                "mesh_token_wrong", "That is not the token of this mesh.", hint="Check SHOAL_MESH_TOKEN."
            )
        if not self._is_active():
            raise Unavailable("coordinator_not_active", "Another coordinator is the active one.")

    async def _message(self, work: Work, server_id: str) -> TransferTask:
        transfer = work.transfer
        if transfer is None:
            return TransferTask(job_id=work.push.job_id, action=TransferTask.LOOK, shard_id=-1)
        shard = work.push.data_set.shards[transfer.shard]
        task = TransferTask(
            job_id=work.push.job_id, shard_id=transfer.shard, task_id=transfer.id, attempt=transfer.attempt
        )
        if not transfer.source_id:
            task.source_type = TransferTask.GCS
            task.gcs_path = await self._link(shard.hash)
            return task
        task.source_type = TransferTask.PEER
        task.upstream_server_addr = transfer.source_address
        task.ticket = self._signer.sign(
            Ticket(
                job_id=work.push.job_id,
                shard_id=transfer.shard,
                shard_hash=shard.hash,
                uploader=transfer.source_id,
                downloader=server_id,
                task_id=transfer.id,
                expires_ms=time.time_ns() // 1_000_000 + TICKET_S * 1000,
            )
        )
        return task


def _read_status(message: ServerStatus) -> Status:
    server_id = message.server_id or message.server_address
    named = (server_id, message.server_address, *message.labels)
    if not server_id or not message.server_address or any(len(one) > LONGEST_NAME for one in named):
        raise Invalid(
            "server_malformed", "A server says its address, and no name is longer than 255 letters."
        )
    if len(message.labels) > MOST_LABELS or len(message.running_task_ids) > MOST_TRANSFERS:
        raise Invalid("server_malformed", "A server has no more than 64 labels and 64 transfers.")
    return Status(
        server_id=server_id,
        address=message.server_address,
        job_id=message.job_id,
        owned=message.shards_owned,
        epoch=message.inventory_epoch,
        labels=tuple(message.labels),
        running=tuple(message.running_task_ids),
        is_ours=bool(message.server_id),
    )


def _outcome(number: TransferTaskComplete.Outcome) -> str:
    try:
        return TransferTaskComplete.Outcome.Name(number)
    except ValueError:
        raise NotFound("outcome_unknown", f"There is no outcome {number}.") from None
