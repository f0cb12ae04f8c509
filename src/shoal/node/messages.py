"""What a node and the process that computes its chunks say to each other: JSON, a message a line."""

from collections.abc import Sequence
from typing import Any

import msgspec

from shoal.node.chunks import Computed, NotComputed
from shoal.wire.fleet import HeldChunk

LONGEST_LINE = 1024 * 1024


class Compute(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Compute this chunk, with an engine of one of these apps."""

    apps: Sequence[str]
    paths: Sequence[str]
    chunk: HeldChunk
    config: Any
    niceness: int
    memory_mb: int | None


class Stop(msgspec.Struct, frozen=True, tag=True):
    """Nobody wants the chunk any more; a moment later the process is killed."""


class Moved(msgspec.Struct, frozen=True, tag=True):
    iterations: int


FromNode = Compute | Stop
FromProcess = Moved | Computed | NotComputed

_from_node: msgspec.json.Decoder[FromNode] = msgspec.json.Decoder(FromNode)
_from_process: msgspec.json.Decoder[FromProcess] = msgspec.json.Decoder(FromProcess)


def line_of(message: FromNode | FromProcess) -> bytes:
    return msgspec.json.encode(message) + b"\n"  # JSON has none of its own


def from_node(line: bytes) -> FromNode:
    return _from_node.decode(line)


def from_process(line: bytes) -> FromProcess:
    return _from_process.decode(line)
