"""What a running task can see and say. The same object serves sync and async tasks: nothing blocks."""

import tempfile
from collections.abc import AsyncIterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

from shoal.app.artifact import Artifact, check_artifact
from shoal.app.task_log import TaskLog


class Context:
    """Handed to every task.

    ``needs`` holds the outputs of the tasks it needed, by their names. ``progress``, ``artifact`` and
    ``log`` only note what they are told; the worker sends it.
    """

    def __init__(
        self,
        *,
        job_id: UUID,
        task_id: UUID,
        name: str,
        attempt: int,
        max_attempts: int,
        input: Any,  # noqa: A002 - the word users know from the API
        needs: Mapping[str, Any],
    ) -> None:
        self.job_id = job_id
        self.task_id = task_id
        self.name = name
        self.attempt = attempt
        self.max_attempts = max_attempts
        self.input = input
        self.needs = needs
        self.artifacts: list[Artifact] = []
        self.fraction = 0.0
        self.message = ""
        self.cancelled = False
        """Whether the task should stop: its job was cancelled, its lease lost, or the worker ends."""

    @cached_property
    def log(self) -> TaskLog:
        """What is written here stands in the worker's log, and is kept with the job."""
        return TaskLog(job_id=str(self.job_id), task_id=str(self.task_id), task=self.name)

    @cached_property
    def workdir(self) -> Path:
        """A folder of its own, removed once the task has ended and its artifacts are kept."""
        return Path(tempfile.mkdtemp(prefix=f"shoal-{self.task_id.hex[-8:]}-"))

    def used(self, what: Literal["log", "workdir"]) -> bool:
        """Whether the task has asked for it; what nobody asks for costs nothing."""
        return what in vars(self)

    def progress(self, fraction: float, message: str = "") -> None:
        """How far the task is, from 0 to 1, and in words. Sent with the next heartbeat."""
        self.fraction = max(0.0, min(float(fraction), 1.0))  # in this order also not-a-number is nothing
        self.message = message

    def artifact(
        self,
        name: str,
        source: bytes | str | Path | AsyncIterable[bytes],
        *,
        type: str,  # noqa: A002 - the word users know from the API
        content_type: str = "application/octet-stream",
        duration_seconds: float | None = None,
        fallback_for: str | None = None,
    ) -> None:
        """Keep a file: bytes, text, a path (in ``workdir``, say) or a stream of bytes.

        ``fallback_for`` is the name of an artifact made before: this is the same in a second format.
        """
        content = source.encode() if isinstance(source, str) else source
        made = Artifact(name, content, type, content_type, duration_seconds, fallback_for)
        check_artifact(made, self.artifacts)
        self.artifacts.append(made)
