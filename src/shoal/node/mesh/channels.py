"""Connections to coordinators and peers, kept while they are in use."""

from typing import Any

import grpc

from shoal.wire._generated.scheduler_pb2_grpc import SchedulerStub
from shoal.wire._generated.shard_transfer_pb2_grpc import ShardTransferStub
from shoal.wire.data_sets import LARGEST_MANIFEST, PIECE

MOST_PEERS = 64
OPTIONS = [
    ("grpc.max_receive_message_length", 4 * PIECE),
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1_000),
]


class Channels:
    """Plain ones: the ports of the mesh belong in a network of one's own."""

    def __init__(self) -> None:
        self._peers: dict[str, grpc.aio.Channel] = {}
        self._coordinators: dict[str, grpc.aio.Channel] = {}
        self._closing: list[grpc.aio.Channel] = []

    def scheduler(self, address: str) -> Any:
        channel = self._coordinators.get(address)
        if channel is None:
            large = [("grpc.max_receive_message_length", LARGEST_MANIFEST), *OPTIONS[1:]]
            channel = self._coordinators[address] = grpc.aio.insecure_channel(address, options=large)
        return SchedulerStub(channel)  # type: ignore[no-untyped-call]  # generated

    def shard_transfer(self, address: str) -> Any:
        channel = self._peers.pop(address, None) or grpc.aio.insecure_channel(address, options=OPTIONS)
        self._peers[address] = channel  # the last one used is the last one to go
        if len(self._peers) > MOST_PEERS:
            self._closing.append(self._peers.pop(next(iter(self._peers))))
        return ShardTransferStub(channel)  # type: ignore[no-untyped-call]  # generated

    async def close(self) -> None:
        for channel in (*self._peers.values(), *self._coordinators.values(), *self._closing):
            await channel.close(None)
