"""What a running task can see and say. The same object serves sync and async tasks: nothing blocks."""

import threading
from collections.abc import AsyncIterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

from shoal.app.task_log import TaskLog


@dataclass(frozen=True)
class Artifact:
    """A file the task made. It is uploaded after the task returns, before it counts as complete."""

    name: str
    source: bytes | Path | AsyncIterable[bytes]
    type: str
    content_type: str
    duration_seconds: float | None


@dataclass
class Context:
    """Handed to every task.

    ``needs`` holds the outputs of the tasks it needed, by their names. ``workdir`` is a folder of its
    own that is removed once the artifacts are uploaded.
    """

    job_id: UUID
    task_id: UUID
    name: str
    attempt: int
    max_attempts: int
    input: Any
    needs: Mapping[str, Any]
    workdir: Path
    artifacts: list[Artifact] = field(default_factory=list)
    fraction: float = 0.0
    message: str = ""
    _cancelled: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.log = TaskLog(job_id=str(self.job_id), task_id=str(self.task_id), task=self.name)

    def progress(self, fraction: float, message: str = "") -> None:
        """How far the task is, from 0 to 1, and in words. Sent with the next heartbeat."""
        self.fraction = min(max(float(fraction), 0.0), 1.0)
        self.message = message

    def artifact(
        self,
        name: str,
        source: bytes | str | Path | AsyncIterable[bytes],
        *,
        type: str,  # noqa: A002 - the word users know from the API
        content_type: str = "application/octet-stream",
        duration_seconds: float | None = None,
    ) -> None:
        """Keep a file: bytes, text, a path (in ``workdir``, say) or a stream of bytes."""
        content = source.encode() if isinstance(source, str) else source
        self.artifacts.append(Artifact(name, content, type, content_type, duration_seconds))

    @property
    def cancelled(self) -> bool:
        """Whether the task should stop: its job was cancelled, its lease lost, or the worker ends."""
        return self._cancelled.is_set()

    def cancel(self) -> None:
        self._cancelled.set()
