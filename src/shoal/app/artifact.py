"""A file that a task makes."""

import math
import re
from collections.abc import AsyncIterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from shoal.runtime.errors import Invalid, TooLarge

MOST_OF_A_TASK = 1000
LONGEST_NAME = 255
TYPE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,126}")


@dataclass(frozen=True)
class Artifact:
    """It is uploaded after the task returns, before it counts as complete.

    ``fallback_for`` names another artifact of the task: the same thing in a second format.
    """

    name: str
    source: bytes | Path | AsyncIterable[bytes]
    type: str
    content_type: str = "application/octet-stream"
    duration_seconds: float | None = None
    fallback_for: str | None = None

    @property
    def kind(self) -> str:
        """What the artifacts of a kind have in common: ``audio`` of ``audio_mp3`` and ``audio_m4a``."""
        return self.type.partition("_")[0]


def check_artifact(artifact: Artifact, earlier: Sequence[Artifact]) -> None:
    """Refuse what could not be kept beside the earlier ones of the same attempt."""
    if len(earlier) >= MOST_OF_A_TASK:
        raise TooLarge(
            "too_many_artifacts",
            f"A task may keep {MOST_OF_A_TASK} artifacts.",
            hint="Put them into an archive, or share the work out among several tasks.",
        )
    if why := _what_is_wrong(artifact, earlier):
        raise Invalid("invalid_artifact", f"The artifact {artifact.name[:LONGEST_NAME]!r} {why}.")


def _what_is_wrong(artifact: Artifact, earlier: Sequence[Artifact]) -> str | None:
    duration = artifact.duration_seconds
    if not 1 <= len(artifact.name) <= LONGEST_NAME:
        return f"has a name of {len(artifact.name)} characters, not of 1 to {LONGEST_NAME}"
    if not TYPE.fullmatch(artifact.type):
        return (
            f"has the type {artifact.type[:LONGEST_NAME]!r}: letters, digits, '_', '.', '+' and '-' make one"
        )
    if duration is not None and not 0 <= duration < math.inf:
        return f"has a duration of {duration} seconds"
    if any(one.name == artifact.name and one.kind == artifact.kind for one in earlier):
        return f"is there already: a task makes one of each name and kind ({artifact.kind})"
    if artifact.fallback_for is not None and not any(
        one.name == artifact.fallback_for and one.fallback_for is None for one in earlier
    ):
        return f"is a fallback for {artifact.fallback_for!r}, which the task did not make before it"
    return None
