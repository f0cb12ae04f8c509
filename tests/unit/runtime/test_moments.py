"""Moments as they are sent, from the first year to the last and from everywhere."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.runtime.errors import Invalid
from shoal.runtime.moments import in_utc

offsets = st.integers(min_value=-23 * 60, max_value=23 * 60).map(lambda m: timezone(timedelta(minutes=m)))


@given(moment=st.datetimes(timezones=offsets))
def test_the_moment_stays_the_same_or_is_refused(moment: datetime) -> None:
    try:
        found = in_utc(moment)
    except Invalid:
        assert moment.year in {1, 9999}
    else:
        assert found == moment
        assert found is not None
        assert found.tzinfo is UTC


def test_no_moment_is_none_and_one_without_an_offset_is_refused() -> None:
    assert in_utc(None) is None
    with pytest.raises(Invalid, match="offset"):
        in_utc(datetime(2030, 1, 31, 9))  # noqa: DTZ001 - that is what is refused
