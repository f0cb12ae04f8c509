"""A declared task: a function, and how it is to be run."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


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
    is_async: bool
