"""What a worker and the process of a task say to each other: JSON, a message a line."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec

from shoal.worker.meaning import Meaning

LONGEST_LINE = 16 * 1024 * 1024


class Message(msgspec.Struct, frozen=True, tag=True, tag_field="says"):
    pass


class Run(Message, frozen=True, kw_only=True):
    """Run a task of one of these apps."""

    apps: Sequence[str]
    paths: Sequence[str]
    task_type: str
    job_id: UUID
    task_id: UUID
    name: str
    attempt: int
    max_attempts: int
    input: Any
    needs: Mapping[str, Any]
    workdir: str
    memory_mb: int | None


class Stop(Message, frozen=True):
    """Whatever runs should stop; a moment later the process is killed."""


class Progressed(Message, frozen=True):
    fraction: float
    message: str


class Logged(Message, frozen=True):
    level: str
    message: str
    fields: dict[str, str]


class Made(Message, frozen=True, kw_only=True):
    """An artifact, in a file."""

    name: str
    path: str
    type: str
    content_type: str
    duration_seconds: float | None
    fallback_for: str | None


class Completed(Message, frozen=True):
    """``output`` is written JSON. Nothing more comes of this task."""

    output: str | None


class Failed(Message, frozen=True):
    """``trace`` is for the log of the worker. Nothing more comes of this task."""

    meaning: Meaning
    trace: str = ""


FromWorker = Run | Stop
FromTask = Progressed | Logged | Made | Completed | Failed

_encode = msgspec.json.Encoder(enc_hook=str).encode
_from_worker: msgspec.json.Decoder[FromWorker] = msgspec.json.Decoder(FromWorker)
_from_task: msgspec.json.Decoder[FromTask] = msgspec.json.Decoder(FromTask)


def line_of(message: FromWorker | FromTask) -> bytes:
    return _encode(message) + b"\n"  # JSON has none of its own


def from_worker(line: bytes) -> FromWorker:
    return _from_worker.decode(line)


def from_task(line: bytes) -> FromTask:
    return _from_task.decode(line)
