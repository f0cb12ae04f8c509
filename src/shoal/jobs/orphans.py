"""Which objects of the vault belong to nobody any more. Pure.

The ledger decides what is ours: of an object whose job it does not know, nothing is said. So what else
lies in the bucket is safe, also the files of another Shoal, and all of them when the database is the
wrong one.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from shoal.vault.objects import Found

GRACE = timedelta(days=1)
"""How long an object is left alone, whatever it looks like. Much longer than the longest lease."""

_UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_PLACE = re.compile(
    rf"(?P<user>{_UUID})/(?P<job>{_UUID})/(?:[^/]+/(?P<task>{_UUID})\.(?P<attempt>[0-9a-f]{{8}})/)?.+",
    re.DOTALL,
)


@dataclass(frozen=True)
class Attempt:
    """One attempt of a task, by the beginning of its claim token."""

    task: UUID
    token: str


@dataclass(frozen=True)
class Place:
    """What the key of an object says. Clients of their own may name objects without an attempt."""

    user: UUID
    job: UUID
    attempt: Attempt | None


@dataclass(frozen=True)
class KnownTask:
    """``counts`` is the attempt that runs or has completed, by the beginning of its token."""

    user: UUID
    job: UUID
    counts: str | None


@dataclass(frozen=True)
class Known:
    """What the ledger says: the owners of jobs that were deleted, and tasks of those that were not."""

    deleted: Mapping[UUID, UUID]
    tasks: Mapping[UUID, KnownTask]


def folder_of(user: UUID, job: UUID) -> str:
    return f"{user}/{job}"


def token_start(token: UUID) -> str:
    return token.hex[:8]


def place_of(key: str) -> Place | None:
    """None when it is no place where a job keeps what it made."""
    match = _PLACE.fullmatch(key)
    if match is None:
        return None
    attempt = Attempt(UUID(match["task"]), match["attempt"]) if match["task"] else None
    return Place(UUID(match["user"]), UUID(match["job"]), attempt)


def is_orphan(found: Found, known: Known, *, now: datetime) -> bool:
    """Whether the object may go.

    * It lies in the folder of a job that was deleted, or
    * it was made by an attempt that does not count, and so never will: no attempt gets its token again.
      One whose name says no attempt stays as long as its job.
    """
    place = place_of(found.key)
    if place is None:
        return False
    if place.job in known.deleted:
        return known.deleted[place.job] == place.user
    if place.attempt is None or found.modified > now - GRACE:
        return False
    task = known.tasks.get(place.attempt.task)
    if task is None or (task.user, task.job) != (place.user, place.job):
        return False
    return task.counts != place.attempt.token
