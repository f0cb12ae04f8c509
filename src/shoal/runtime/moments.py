"""Moments as people and programs send them."""

from contextlib import suppress
from datetime import UTC, datetime

import msgspec

from shoal.runtime.errors import Invalid


def in_utc(moment: datetime | None) -> datetime | None:
    """A moment somebody sent. The years in UTC end at 9999, wherever it was written."""
    if moment is None:
        return None
    with suppress(OverflowError):
        if moment.tzinfo is not None:
            return moment.astimezone(UTC)
    raise _no_moment(moment.isoformat())


def read_moment(text: str | None) -> datetime | None:
    """A moment in a query, where numbers would otherwise be taken for seconds since 1970."""
    if text is None:
        return None
    try:
        return in_utc(msgspec.convert(text, datetime))
    except msgspec.ValidationError as error:
        raise _no_moment(text[:80]) from error


def _no_moment(written: str) -> Invalid:
    return Invalid(
        "invalid_moment",
        f"{written} is not a moment in time.",
        hint="Write it with its offset and before the year 10000, as in 2030-01-31T09:00:00Z.",
    )
