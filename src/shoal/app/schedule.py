"""``@app.schedule``: when a job of the app happens again and again. It is a wish: ``shoal schedule apply``
makes it a schedule of whoever calls that, and refuses what is wrong with it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec

from shoal.app.values import converted
from shoal.runtime.errors import Invalid
from shoal.wire.schedules import FrequencyUnit, MissedPolicy, OverlapPolicy


@dataclass(frozen=True, kw_only=True)
class ScheduledJobOf:
    """A schedule as the app declares it."""

    name: str
    job: str
    cron: str | None
    every: tuple[int, FrequencyUnit] | None
    tz: str
    params: Mapping[str, Any] = field(default_factory=dict)
    priority: int = 0
    start: datetime | None = None
    end: datetime | None = None
    jitter: float = 0.0
    missed: MissedPolicy = "last"
    missed_limit: int = 100
    missed_window: float | None = None
    overlap: OverlapPolicy = "allow"

    def as_asked(self) -> dict[str, Any]:
        """As ``POST /api/schedules`` takes it."""
        asked = {
            "name": self.name,
            "cron": self.cron,
            "frequencyTime": self.every and self.every[0],
            "frequencyUnit": self.every and self.every[1],
            "zone": self.tz,
            "startAt": self.start and self.start.isoformat(),
            "endAt": self.end and self.end.isoformat(),
            "job": {"type": self.job, "params": msgspec.to_builtins(self.params), "priority": self.priority},
            "jitterS": self.jitter,
            "missedRuns": self.missed,
            "missedLimit": self.missed_limit,
            "missedWindowS": self.missed_window,
            "overlap": self.overlap,
        }
        return {name: value for name, value in asked.items() if value is not None}


def check_when(name: str, cron: str | None, every: tuple[int, FrequencyUnit] | None) -> None:
    if (cron is None) == (every is None):
        raise Invalid(
            "invalid_declaration",
            f"The schedule {name!r} has either a cron expression or how often it is.",
            hint='Write cron="0 9 * * 1", or every=(5, "MINUTES").',
        )


def check_scheduled_params(name: str, params: object, params_type: Any) -> None:
    try:
        converted(msgspec.to_builtins(params), params_type)
    except (msgspec.ValidationError, TypeError) as error:
        raise Invalid(
            "invalid_declaration", f"The parameters of the schedule {name!r} do not fit its job: {error}."
        ) from error
