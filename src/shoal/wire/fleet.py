"""What nodes and sentinels say to each other.

Over HTTP, signed as ``shoal.runtime.signatures`` says
    * ``POST /nodes/register`` ``Register`` → ``Registered``. May be repeated: the same key is the same node.
    * ``POST /nodes/token`` with an empty body → ``NodeToken``.
    * ``GET /config/{hash}`` → the config: the bytes whose SHA-256 is the hash. Prefer it to ``getConfig``.

    The first two also take a ``SignedBody``: version 1 over the path and the hash of an empty body.

Over the beacon, to the node, on ``nodes:{id}``: ``NodePush``
    A push is a hint, and may be lost. Whoever connects asks ``getAssignedChunks`` first.

    * ``ChunkAssigned``: hold this chunk as well. One that is held already changes nothing.
    * ``ChunksDropped``: forget these and stop them; their results are wanted by nobody.
    * ``Ping``: send a heartbeat now.
    * ``NodeConfigured``: what the owner has set; ``maxParallel`` 0 while the node is paused.

Over the beacon, calls of the node
    * ``heartbeat`` ``Heartbeat`` → ``HeartbeatReply``: after connecting, every ``HEARTBEAT_S`` seconds, and
      on a ping. What is in ``lost`` is dropped, what is in ``chunks`` is held as well. Then, if ``digest`` is
      not ``digest_of`` what the node holds or ``epoch`` is not that of the last reply: ``getAssignedChunks``.
    * ``completeChunk`` ``CompleteChunk`` → ``ChunkVerdict``. Whatever the verdict, the node no longer holds
      the chunk and no longer needs its result; ``chunks`` are the next ones. On an error of the call it keeps
      the result, and calls again if that ``is_worth_repeating``.
    * ``failChunk`` ``FailChunk`` → ``HeldChunks``, empty: it cannot be computed here. The chunk is tried
      elsewhere, and the node gets nothing for a while, longer after each failure in a row.
    * ``handBackChunks`` ``HandBackChunks`` → ``HeldChunks``, empty: the node will not compute these after
      all. With ``leaving`` it gets nothing more, everything it holds goes to others, and it is forgotten; its
      next heartbeat makes it known again.
    * ``getAssignedChunks`` ``{}`` → ``HeldChunks``: everything the node holds, and nothing else.
    * ``getChunkInfo`` ``AskChunk`` → ``HeldChunk``, or ``CHUNK_NOT_FOUND``.
    * ``getConfig`` ``AskConfig`` → ``FoundConfig``, or ``NOT_FOUND``.

    A chunk whose result is on the disk without a verdict is still held, with progress 1.

Over the beacon, published by the node
    * to ``chunks:complete`` a ``PublishedResult``. No error is OK or ALREADY_COMPLETED; the next chunks come
      as pushes. ``completeChunk`` costs less and says more.

Errors of calls and of publishing are ``NodeError``; the connection ends with 4501 (and stays away) when the
node was revoked, and with 4429 (and comes back) when it connects too often.
"""

import hashlib
from collections.abc import Iterable
from enum import IntEnum
from typing import Annotated, Any, Literal

import msgspec

HEARTBEAT_S = 20.0
MOST_HELD = 4096
LARGEST = 2**53

ChunkId = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
Number = Annotated[int, msgspec.Meta(ge=0, lt=LARGEST)]
ConfigHash = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
EngineIdentity = Annotated[
    str, msgspec.Meta(pattern=r"^[a-z][a-z0-9_.-]{0,62}@[0-9A-Za-z][0-9A-Za-z._+-]{0,31}$")
]
Parallel = Annotated[int, msgspec.Meta(ge=0, le=1024)]
Name = Annotated[str, msgspec.Meta(max_length=100, pattern=r"^[^\x00-\x1f\x7f]*$")]

Verdict = Literal["OK", "ALREADY_COMPLETED", "WRONG_NODE", "NOT_FOUND", "UNKNOWN_NODE", "INVALID"]


class NodeError(IntEnum):
    """Codes of the errors that calls and publishing are answered with, besides those of the protocol."""

    FORBIDDEN = 403
    NOT_FOUND = 404
    RATE_LIMITED = 429  # temporary
    CHUNK_NOT_FOUND = 1000  # or not held by this node, or its job has ended
    INVALID_RESULT = 1001
    UNKNOWN_NODE = 1002  # forgotten: the next heartbeat makes it known again


def is_worth_repeating(code: int, *, temporary: bool) -> bool:
    """Whether a call that was answered with this error may have another answer later.

    Codes below 100 are the client's own: it timed out, or was not connected.
    """
    return temporary or code < 100 or code in {100, 109, 111, NodeError.RATE_LIMITED}


def digest_of(chunk_ids: Iterable[str]) -> str:
    """What a node holds, in 40 characters: the SHA-1 of the ids, sorted, each with a line feed after it."""
    lines = "".join(f"{one}\n" for one in sorted(chunk_ids))
    return hashlib.sha1(lines.encode(), usedforsecurity=False).hexdigest()


# Over HTTP


class Register(msgspec.Struct, rename="camel", forbid_unknown_fields=True, frozen=True, kw_only=True):
    """``POST /nodes/register``: what a node says of itself. Its owner may name it otherwise."""

    name: Name = ""
    platform: Name = ""
    version: Name = ""


class SignedBody(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The signature in the body instead of the headers. ``pubkey`` and ``signature`` in hex or base64."""

    pubkey: Annotated[str, msgspec.Meta(max_length=100)]
    signature: Annotated[str, msgspec.Meta(max_length=200)]
    timestamp: int
    nonce: Annotated[str, msgspec.Meta(max_length=100)]


class Registered(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """``claim_code`` is null once somebody has claimed the node."""

    id: str
    claim_code: str | None


class NodeToken(msgspec.Struct, frozen=True, kw_only=True):
    """``expires_at`` is in seconds since 1970; ``url`` is where to connect with ``jwt``."""

    jwt: str
    expires_at: int
    url: str
    id: str


# To the node


class HeldChunk(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """``id`` names the attempt. The iterations are those from ``seed_offset`` on, of the stream ``seed``."""

    id: ChunkId
    job_id: str
    engine: str
    config_hash: ConfigHash
    seed: Number = 0
    seed_offset: Number
    iterations: Annotated[int, msgspec.Meta(ge=1, lt=LARGEST)]


class ChunkAssigned(HeldChunk, tag_field="type", tag="chunk", rename="camel", frozen=True, kw_only=True):
    pass


class ChunksDropped(msgspec.Struct, tag_field="type", tag="drop", rename="camel", frozen=True, kw_only=True):
    chunk_ids: list[ChunkId]


class Ping(msgspec.Struct, tag_field="type", tag="ping", rename="camel", frozen=True, kw_only=True):
    """``timestamp`` is in milliseconds since 1970."""

    timestamp: int


class NodeConfigured(
    msgspec.Struct, tag_field="type", tag="config", rename="camel", frozen=True, kw_only=True
):
    """``user_id`` is null until the node is claimed. The node runs at most ``max_parallel`` chunks at a time,
    and as many as it would by itself when that is null.
    """

    user_id: str | None
    name: str
    max_parallel: Parallel | None


NodePush = ChunkAssigned | ChunksDropped | Ping | NodeConfigured


# Calls of the node


class Heartbeat(msgspec.Struct, rename="camel", forbid_unknown_fields=True, frozen=True, kw_only=True):
    """``chunks`` has everything the node holds, with the share that is done of each, from 0 to 1.

    ``max_parallel`` is how many the node would run at a time, whatever its owner has set; with 0 it gets
    nothing more.
    ``chunk_s`` is how long a chunk takes it; null before the first one.
    """

    chunks: Annotated[
        dict[ChunkId, Annotated[float, msgspec.Meta(ge=0, le=1)]], msgspec.Meta(max_length=MOST_HELD)
    ]
    engines: Annotated[list[EngineIdentity], msgspec.Meta(max_length=64)]
    max_parallel: Parallel
    chunk_s: Annotated[float, msgspec.Meta(ge=0)] | None = None
    version: Name = ""
    platform: Name = ""


class HeartbeatReply(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """``digest`` is of everything the node is to hold, ``chunks`` included and ``lost`` excluded.

    ``config`` repeats what the last push of it said, which may have been lost.
    """

    epoch: int
    backlog: int
    digest: str
    lost: list[ChunkId]
    chunks: list[HeldChunk]
    config: NodeConfigured


class CompleteChunk(msgspec.Struct, rename="camel", forbid_unknown_fields=True, frozen=True, kw_only=True):
    """``wanted`` is how many chunks the node would take now; it gets no more than its room allows.

    ``result`` is a ``ChunkMoments`` or ``ChunkValues``, as the reducer of the engine says.
    """

    chunk_id: ChunkId
    result: dict[str, Any]
    wanted: Annotated[int, msgspec.Meta(ge=0, le=MOST_HELD)] = 1


class ChunkVerdict(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """``reason`` says what is wrong with a result that is INVALID: its chunk is tried again elsewhere."""

    verdict: Verdict
    reason: str = ""
    chunks: list[HeldChunk]


class FailChunk(msgspec.Struct, rename="camel", forbid_unknown_fields=True, frozen=True, kw_only=True):
    chunk_id: ChunkId
    code: Annotated[str, msgspec.Meta(max_length=100)]
    reason: Annotated[str, msgspec.Meta(max_length=1000)] = ""


class HandBackChunks(msgspec.Struct, rename="camel", forbid_unknown_fields=True, frozen=True, kw_only=True):
    chunk_ids: Annotated[list[ChunkId], msgspec.Meta(max_length=MOST_HELD)]
    leaving: bool = False


class HeldChunks(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    chunks: list[HeldChunk]


class AskChunk(msgspec.Struct, rename="camel", forbid_unknown_fields=True, frozen=True):
    chunk_id: ChunkId


class AskConfig(msgspec.Struct, rename="camel", forbid_unknown_fields=True, frozen=True):
    hash: ConfigHash


class FoundConfig(msgspec.Struct, frozen=True):
    """``config`` written as ``msgspec.json.encode(config, order="sorted")`` does is what ``hash`` is of."""

    config: Any
    hash: ConfigHash


class PublishedResult(msgspec.Struct, rename="camel", forbid_unknown_fields=True, frozen=True):
    """To ``chunks:complete``."""

    chunk_id: ChunkId
    result: dict[str, Any]
