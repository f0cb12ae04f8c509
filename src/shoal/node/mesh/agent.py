"""The agent: polls for work, runs transfers, says that it is there, and leaves in order."""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, ParamSpec, TypeVar

import grpc
import numpy as np
import structlog

from shoal.node.mesh.channels import Channels
from shoal.node.mesh.downloads import Download, Downloads
from shoal.node.mesh.layout import lay_out
from shoal.node.mesh.measures import MeshMeasures
from shoal.node.mesh.settings import MeshAgentSettings
from shoal.node.mesh.store import ShardStore
from shoal.node.mesh.uploads import Uploads
from shoal.runtime.errors import ShoalError
from shoal.runtime.lifecycle import Part
from shoal.wire._generated.scheduler_pb2 import (
    HeartbeatRequest,
    HeartbeatResponse,
    ManifestRequest,
    ServerStatus,
    TransferProgress,
    TransferTask,
    TransferTaskComplete,
)
from shoal.wire.data_sets import DataSet

P = ParamSpec("P")
T = TypeVar("T")
log = structlog.get_logger(__name__)

FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 2.0
SHORT_CALL_S = 10.0
MANIFEST_CALL_S = 120.0


@dataclass
class Current:
    """The data set that is being distributed now."""

    job_id: str
    data_set_id: str
    data_set: DataSet
    is_laid_out: bool = False


class MeshAgent(Part):
    name = "mesh agent"

    def __init__(
        self,
        settings: MeshAgentSettings,
        *,
        store: ShardStore,
        channels: Channels,
        uploads: Uploads,
        downloads: Downloads,
        disk: ThreadPoolExecutor,
        measures: MeshMeasures,
    ) -> None:
        self.address = ""
        """Where peers reach this server; known when it listens."""
        self._settings = settings
        self._store = store
        self._channels = channels
        self._uploads = uploads
        self._downloads = downloads
        self._disk = disk
        self._measures = measures
        self._metadata = (("authorization", f"Bearer {settings.mesh_token}"),)
        self._coordinator = 0
        self._current: Current | None = None
        self._stopping = asyncio.Event()
        self._heard = asyncio.Event()
        """The coordinator has answered: from then on the key of its tickets is known."""

    async def run(self) -> None:
        """Until it is stopped. Then what is under way is given back, and the coordinator told."""
        loops = [asyncio.create_task(self._work()), asyncio.create_task(self._heartbeats())]
        stopped = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait([*loops, stopped], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (*loops, stopped):
                task.cancel()
            ended = await asyncio.gather(*loops, return_exceptions=True)
        await self._say_goodbye()
        for error in ended:
            if isinstance(error, Exception):
                raise error

    async def stop(self) -> None:
        self._stopping.set()

    async def _work(self) -> None:
        pause_s = FIRST_PAUSE_S
        await self._heard.wait()
        while True:
            try:
                task = await self._scheduler.getWork(await self._status(), metadata=self._metadata)
                pause_s = FIRST_PAUSE_S
                if task.action == TransferTask.LOOK:
                    await self._look(task.job_id)
                else:
                    await self._take(task)
            except grpc.aio.AioRpcError as error:
                pause_s = await self._pause(pause_s, error)
            except ShoalError as error:  # a manifest that cannot be used
                log.exception("data set refused", code=error.code)
                pause_s = await self._pause(LONGEST_PAUSE_S, None)

    async def _take(self, task: TransferTask) -> None:
        """One transfer; the next poll comes when it has ended."""
        current = self._current
        if current is None or current.job_id != task.job_id:
            await self._look(task.job_id)
            current = self._current
        if current is None or not 0 <= task.shard_id < len(current.data_set.shards):
            log.error("transfer of an unknown shard", job=task.job_id, shard=task.shard_id)
            return
        download = Download(task, current.data_set.shards[task.shard_id], current.data_set_id)
        await self._downloads.run(download)
        self._measures.transfer_ended(download)
        await self._scheduler.reportTransferTaskCompletion(
            TransferTaskComplete(
                server_address=self.address,
                server_id=self._store.server_id,
                job_id=task.job_id,
                shard_id=task.shard_id,
                task_id=task.task_id,
                outcome=download.outcome,
                message=download.message,
                bytes_received=download.received,
            ),
            metadata=self._metadata,
            timeout=SHORT_CALL_S,
        )
        if download.outcome != TransferTaskComplete.SUCCEEDED:
            log.warning(
                "transfer failed",
                shard=task.shard_id,
                source=task.upstream_server_addr or "origin",
                outcome=TransferTaskComplete.Outcome.Name(download.outcome),
                message=download.message,
            )

    async def _look(self, job_id: str) -> None:
        answer = await self._scheduler.getManifest(
            ManifestRequest(job_id=job_id), metadata=self._metadata, timeout=MANIFEST_CALL_S
        )
        data_set = await self._in_thread(self._store.remember, answer.data_set_id, answer.body)
        self._current = Current(answer.job_id, answer.data_set_id, data_set)
        log.info("data set", job=answer.job_id, name=data_set.name, shards=len(data_set.shards))

    async def _status(self) -> ServerStatus:
        status = ServerStatus(
            server_address=self.address,
            server_id=self._store.server_id,
            inventory_epoch=self._store.epoch,
            labels=self._settings.mesh_labels,
            free_bytes=await self._in_thread(lambda: self._store.free),
            running_task_ids=list(self._downloads.running),
        )
        if current := self._current:
            owned = self._store.owned(current.data_set)
            status.job_id = current.job_id
            status.shards_owned = np.packbits(owned, bitorder="little").tobytes()
            if all(owned):
                await self._lay_out(current)
        return status

    async def _lay_out(self, current: Current) -> None:
        below = self._settings.laid_out_below
        if current.is_laid_out or below is None:
            return
        try:
            await self._in_thread(
                lay_out,
                current.data_set,
                current.data_set_id,
                below / current.data_set.name,
                self._store.read_through,
            )
            log.info("data set laid out", name=current.data_set.name, folder=str(below))
        except (ShoalError, OSError):
            log.exception("data set not laid out", name=current.data_set.name)
        current.is_laid_out = True

    async def _heartbeats(self) -> None:
        while True:
            with contextlib.suppress(grpc.aio.AioRpcError):  # the polls see to another coordinator
                answer = await self._beat(self._heartbeat())
                if answer.tell_status:
                    told = self._heartbeat()
                    told.status.CopyFrom(await self._status())
                    await self._beat(told)
                self._heard.set()
            await asyncio.sleep(self._settings.mesh_heartbeat_s)

    async def _beat(self, message: HeartbeatRequest) -> HeartbeatResponse:
        answer: HeartbeatResponse = await self._scheduler.heartbeat(
            message, metadata=self._metadata, timeout=SHORT_CALL_S
        )
        self._uploads.public_key = answer.ticket_key
        for task_id in answer.cancelled_task_ids:
            self._uploads.cut(task_id)
            if download := self._downloads.running.get(task_id):
                download.cut.set()
        return answer

    def _heartbeat(self, *, is_last: bool = False) -> HeartbeatRequest:
        return HeartbeatRequest(
            server_address=self.address,
            server_id=self._store.server_id,
            leaving=is_last,
            downloads=[
                TransferProgress(
                    task_id=one.task.task_id,
                    bytes=one.received,
                    job_id=one.task.job_id,
                    shard_id=one.task.shard_id,
                    upstream_server_addr=one.task.upstream_server_addr,
                )
                for one in self._downloads.running.values()
            ],
            uploads=[
                TransferProgress(task_id=task_id, bytes=one.sent)
                for task_id, one in self._uploads.running.items()
            ],
        )

    async def _say_goodbye(self) -> None:
        with contextlib.suppress(grpc.aio.AioRpcError):
            await self._scheduler.heartbeat(
                self._heartbeat(is_last=True), metadata=self._metadata, timeout=1.0
            )

    @property
    def _scheduler(self) -> Any:
        coordinators: Sequence[str] = self._settings.mesh_coordinators
        return self._channels.scheduler(coordinators[self._coordinator % len(coordinators)])

    async def _pause(self, seconds: float, error: grpc.aio.AioRpcError | None) -> float:
        """Before the next try, at the next coordinator; how long to wait if that fails too."""
        if error is not None:
            log.debug("coordinator does not answer", code=error.code().name, details=error.details())
            self._coordinator += 1
        await asyncio.sleep(seconds)
        return min(seconds * 2, LONGEST_PAUSE_S)

    async def _in_thread(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._disk, partial(work, *args, **kwargs))
