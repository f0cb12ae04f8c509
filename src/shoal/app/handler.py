"""A declared handler: a function that is told of events, under a name that is known everywhere."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.runtime.errors import Invalid

PATTERN = re.compile(r"\*|[a-z][a-z0-9_.-]{0,123}(\.\*)?")


@dataclass(frozen=True)
class Handler:
    name: str
    events: Sequence[str]
    function: Callable[..., Any]
    attempts: int
    timeout: float
    is_async: bool
    takes_connection: bool


def check_patterns(name: str, patterns: Sequence[str]) -> None:
    for pattern in patterns:
        if not PATTERN.fullmatch(pattern):
            raise Invalid(
                "invalid_declaration",
                f"{name} asks for {pattern!r}, which is no type of events.",
                hint="Write job.completed, job.* or *.",
            )
    if not patterns:
        raise Invalid(
            "invalid_declaration", f"{name} asks for no events.", hint='Write @app.on("job.completed").'
        )
