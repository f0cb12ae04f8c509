"""A declared task: a function, and how it is to be run."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

RunIn = Literal["worker", "process"]


@dataclass(frozen=True)
class Task:
    type: str
    function: Callable[..., Any]
    input_type: Any
    retries: int
    backoff: float
    timeout: float | None
    phase: str | None
    priority: int
    run_in: RunIn
    memory_mb: int | None
    is_async: bool

    @property
    def runs_in_thread(self) -> bool:
        return self.run_in == "worker" and not self.is_async
