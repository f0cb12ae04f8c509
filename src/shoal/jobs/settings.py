"""What is kept: for how long, and how much."""

from datetime import timedelta
from typing import Annotated

import msgspec

Days = Annotated[float, msgspec.Meta(ge=0, le=36500)]
Bytes = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class RetentionSettings(msgspec.Struct, frozen=True, kw_only=True):
    keep_jobs_days: Annotated[
        Days | None,
        msgspec.Meta(
            description=(
                "For how long jobs are kept that completed or were cancelled, with their tasks, lines and "
                "files; null for ever."
            )
        ),
    ] = 30.0
    keep_failed_jobs_days: Annotated[
        Days | None, msgspec.Meta(description="For how long failed jobs are kept; null for ever.")
    ] = 90.0
    keep_lines_days: Annotated[
        Days | None,
        msgspec.Meta(
            description="For how long the lines that tasks wrote are kept; null as long as their jobs."
        ),
    ] = None
    vault_max_bytes: Annotated[
        Bytes | None,
        msgspec.Meta(description="How much all users together may keep in the vault; null for any."),
    ] = None
    vault_max_bytes_per_user: Annotated[
        Bytes | None,
        msgspec.Meta(
            description="How much each user may keep in the vault, if it was not set for them; null for any."
        ),
    ] = None


def as_interval(days: float | None) -> timedelta | None:
    return None if days is None else timedelta(days=days)
