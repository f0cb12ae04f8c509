"""What nodes ask of a sentinel over the beacon, whichever that is. The contract is ``shoal.wire.fleet``."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import msgspec

from shoal.beacon.gate import Gate
from shoal.beacon.model import Cut, DisconnectCode, ErrorCode, Peer, Refused
from shoal.beacon.nodes import NODE, open_nodes
from shoal.fleet.brain import FleetBrain
from shoal.fleet.completions import Completions
from shoal.fleet.configs import Configs
from shoal.fleet.directory import NodeDirectory
from shoal.fleet.heartbeats import Heartbeats
from shoal.fleet.limits import CompletionLimit
from shoal.fleet.looks import FleetLooks
from shoal.fleet.measures import FleetMeasures
from shoal.fleet.pushes import Pushes, held
from shoal.fleet.stores_away import stores_needed
from shoal.runtime.errors import NotFound
from shoal.wire.fleet import (
    AskChunk,
    AskConfig,
    ChunkVerdict,
    CompleteChunk,
    FailChunk,
    FoundConfig,
    HandBackChunks,
    Heartbeat,
    HeartbeatReply,
    HeldChunk,
    HeldChunks,
    NodeError,
    PublishedResult,
)

Asked = TypeVar("Asked")


class FleetDesk:
    """A handler for each call; all of them raise ``Refused`` or ``Cut``."""

    def __init__(
        self,
        brain: FleetBrain,
        looks: FleetLooks,
        *,
        directory: NodeDirectory,
        heartbeats: Heartbeats,
        completions: Completions,
        configs: Configs,
        pushes: Pushes,
        limit: CompletionLimit,
        measures: FleetMeasures,
    ) -> None:
        self._brain = brain
        self._looks = looks
        self._directory = directory
        self._heartbeats = heartbeats
        self._completions = completions
        self._configs = configs
        self._pushes = pushes
        self._limit = limit
        self._measures = measures

    async def is_welcome(self, node_id: str, pubkey_hash: str) -> bool:
        with stores_needed():
            return await self._directory.is_welcome(node_id, pubkey_hash)

    async def online(self) -> Sequence[str]:
        with stores_needed():
            return sorted(await self._looks.heard())

    async def complete_chunk(self, node_id: str, result: Any) -> None:
        """What was published to ``chunks:complete``; the next chunks come as pushes."""
        said = _read(result, PublishedResult)
        with self._measures.call("chunks:complete"):
            verdict = await self._complete(node_id, said.chunk_id, said.result, wanted=1)
        await self._pushes.told(node_id, verdict.chunks)
        match verdict.verdict:
            case "OK" | "ALREADY_COMPLETED":
                return
            case "INVALID":
                raise Refused(NodeError.INVALID_RESULT, f"invalid result: {verdict.reason}")
            case "UNKNOWN_NODE":
                raise Refused(NodeError.UNKNOWN_NODE, "unknown node: send a heartbeat")
            case _:
                raise Refused(NodeError.CHUNK_NOT_FOUND, "chunk not found")

    async def heartbeat(self, node_id: str, said: Heartbeat) -> HeartbeatReply:
        answer = await self._heartbeats.heartbeat(node_id, said)
        if isinstance(answer, str):
            self._directory.forget(node_id)
            raise Cut(DisconnectCode.AUTHENTICATION_FAILED, "not welcome")
        return answer

    async def complete(self, node_id: str, said: CompleteChunk) -> ChunkVerdict:
        return await self._complete(node_id, said.chunk_id, said.result, wanted=said.wanted)

    async def fail(self, node_id: str, said: FailChunk) -> HeldChunks:
        await self._completions.fail(node_id, said.chunk_id, f"{said.code}: {said.reason}")
        return HeldChunks(chunks=[])

    async def hand_back(self, node_id: str, said: HandBackChunks) -> HeldChunks:
        await self._brain.hand_back_chunks(node_id, said.chunk_ids, leaving=said.leaving)
        return HeldChunks(chunks=[])

    async def get_assigned_chunks(self, node_id: str, _: dict[str, Any] | None) -> HeldChunks:
        return HeldChunks(chunks=[held(one) for one in await self._brain.held_chunks(node_id)])

    async def get_chunk_info(self, node_id: str, said: AskChunk) -> HeldChunk:
        for one in await self._brain.held_chunks(node_id):
            if one.id == said.chunk_id:
                return held(one)
        raise Refused(NodeError.CHUNK_NOT_FOUND, "chunk not found")

    async def get_config(self, node_id: str, said: AskConfig) -> FoundConfig:
        try:
            text = await self.config_of(node_id, said.hash)
        except NotFound:
            raise Refused(NodeError.NOT_FOUND, "config not found") from None
        return FoundConfig(config=msgspec.json.decode(text), hash=said.hash)

    async def config_of(self, node_id: str, config_hash: str) -> bytes:
        """A node sees the configs of the chunks it holds, and no others."""
        if not any(one.config_hash == config_hash for one in await self._brain.held_chunks(node_id)):
            raise NotFound("config_not_found", f"There is no config {config_hash} for this node.")
        return await self._configs.read(config_hash)

    async def _complete(self, node_id: str, chunk_id: str, result: Any, *, wanted: int) -> ChunkVerdict:
        if not await self._limit.allows(node_id):
            raise Refused(NodeError.RATE_LIMITED, "too many results", temporary=True)
        return await self._completions.complete(node_id, chunk_id, result, wanted=wanted)


def open_fleet(gate: Gate, desk: FleetDesk, measures: FleetMeasures) -> None:
    open_nodes(gate, desk)

    def answer(
        method: str, asked: type[Asked], handler: Callable[[str, Asked], Awaitable[msgspec.Struct]]
    ) -> None:
        async def handle(peer: Peer, data: Any) -> Any:
            if peer.kind != NODE:
                raise Refused(ErrorCode.PERMISSION_DENIED, "permission denied")
            with measures.call(method):
                return await handler(peer.user, _read(data, asked))

        gate.answer(method, handle)

    answer("heartbeat", Heartbeat, desk.heartbeat)
    answer("completeChunk", CompleteChunk, desk.complete)
    answer("failChunk", FailChunk, desk.fail)
    answer("handBackChunks", HandBackChunks, desk.hand_back)
    answer("getChunkInfo", AskChunk, desk.get_chunk_info)
    answer("getConfig", AskConfig, desk.get_config)
    answer("getAssignedChunks", dict[str, Any] | None, desk.get_assigned_chunks)  # type: ignore[arg-type]  # a union


def _read(data: Any, kind: type[Asked]) -> Asked:
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise Refused(ErrorCode.BAD_REQUEST, f"bad request: {error}"[:400]) from None
