"""What the channel ``jobs:{id}`` says. Each message tells the whole state: one that is lost is made up for
by the next.
"""

from typing import Any

import msgspec


class JobProgressed(
    msgspec.Struct, tag_field="type", tag="progress", rename="camel", frozen=True, kw_only=True
):
    """``completed`` of ``total`` tasks of the current phase have ended well; of its chunks, where the phase
    is one task of the fleet.
    """

    status: str
    percent: int
    phase: str
    message: str
    completed: int
    total: int
    timestamp: int = 0


class JobCompleted(msgspec.Struct, tag_field="type", tag="completed", frozen=True, kw_only=True):
    result: Any
    timestamp: int = 0


class JobFailed(msgspec.Struct, tag_field="type", tag="failed", frozen=True, kw_only=True):
    error: str | None
    timestamp: int = 0


class JobCancelled(msgspec.Struct, tag_field="type", tag="cancelled", frozen=True, kw_only=True):
    error: str | None
    timestamp: int = 0


JobMessage = JobProgressed | JobCompleted | JobFailed | JobCancelled
