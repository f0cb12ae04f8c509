"""How long a leader is believed, and for how long runs are remembered."""

from typing import Annotated

import msgspec


class ScheduleSettings(msgspec.Struct, frozen=True, kw_only=True):
    scheduler_lease_s: Annotated[
        float,
        msgspec.Meta(
            description="After how much silence of the scheduler that leads another one takes over.",
            ge=1,
            le=3600,
        ),
    ] = 15.0
    scheduler_batch: Annotated[
        int, msgspec.Meta(description="How many schedules are fired in one transaction.", ge=1, le=10_000)
    ] = 2000
    keep_runs_days: Annotated[
        float | None,
        msgspec.Meta(
            description="For how long the runs of schedules are remembered; null for ever.", ge=0, le=36500
        ),
    ] = 90.0
