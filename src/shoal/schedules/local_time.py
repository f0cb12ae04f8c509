"""From the clock on the wall to moments in time. A zone may jump; two rules say what happens then.

* A time that a zone skips is the moment of the jump: 02:30 runs when 03:00 begins.
* A time that a zone repeats is its first appearance.

So the moments of growing wall times never go back.
"""

from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from shoal.runtime.errors import Invalid

SECOND = timedelta(seconds=1)


@lru_cache(maxsize=1024)
def find_zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise Invalid(
            "unknown_time_zone",
            f"There is no time zone {name!r}.",
            hint="Use a name of the IANA database, such as Europe/Berlin or UTC.",
        ) from error


def wall_time(moment: datetime, zone: tzinfo) -> datetime:
    """What the clock on the wall shows, without a zone."""
    return moment.astimezone(zone).replace(tzinfo=None, fold=0)


def moment_of(wall: datetime, zone: tzinfo) -> datetime:
    """The moment at which the clock on the wall shows this for the first time, or jumps over it."""
    first = wall.replace(tzinfo=zone).astimezone(UTC)
    if wall_time(first, zone) == wall:
        return first
    return jump_between(wall.replace(tzinfo=zone, fold=1).astimezone(UTC), first, zone)


def jump_between(before: datetime, after: datetime, zone: tzinfo) -> datetime:
    """The first moment with the offset of ``after``, when the offset changes once in between."""
    offset = after.astimezone(zone).utcoffset()
    low, high = 0, (after - before) // SECOND
    while high - low > 1:
        middle = (low + high) // 2
        if (before + middle * SECOND).astimezone(zone).utcoffset() == offset:
            high = middle
        else:
            low = middle
    return before + high * SECOND
