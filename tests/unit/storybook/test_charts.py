"""The sky as it was on days that are well known."""

from datetime import UTC, datetime

import pytest

from examples.storybook.charts import draw_chart
from examples.storybook.people import Person
from examples.storybook.sky import moon_longitude, sun_longitude


def apart(one: float, other: float) -> float:
    """Degrees between two longitudes, the short way round."""
    return abs((one - other + 180) % 360 - 180)


@pytest.mark.parametrize(
    ("moment", "longitude"),
    [
        (datetime(2000, 3, 20, 7, 35, tzinfo=UTC), 0),
        (datetime(2024, 6, 20, 20, 51, tzinfo=UTC), 90),
        (datetime(1986, 9, 23, 7, 59, tzinfo=UTC), 180),
    ],
)
def test_the_sun_stands_right_at_equinox_and_solstice(moment: datetime, longitude: float) -> None:
    assert apart(sun_longitude(moment), longitude) < 0.05


@pytest.mark.parametrize(
    ("moment", "distance"),
    [
        (datetime(2024, 4, 8, 18, 21, tzinfo=UTC), 0),  # an eclipse of the Sun
        (datetime(1999, 8, 11, 11, 8, tzinfo=UTC), 0),  # another one
        (datetime(2018, 7, 27, 20, 21, tzinfo=UTC), 180),  # an eclipse of the Moon
    ],
)
def test_the_moon_stands_right_at_eclipses(moment: datetime, distance: float) -> None:
    assert apart(moon_longitude(moment) - sun_longitude(moment), distance) < 0.7


def test_a_chart_names_what_each_system_sees() -> None:
    chart = draw_chart(Person("Ada", datetime(2000, 3, 20, 7, 36, tzinfo=UTC), "London"))
    assert (chart.sun, chart.element) == ("Aries", "fire")
    assert (chart.moon, chart.nakshatra) == ("Libra", "Uttara-Phalguni")
    assert (chart.gate, chart.line) == (25, 2)


def test_the_same_moment_is_the_same_chart_in_every_zone() -> None:
    here = draw_chart(Person("A", datetime.fromisoformat("1988-03-27T06:40:00+02:00"), "x"))
    there = draw_chart(Person("A", datetime.fromisoformat("1988-03-27T04:40:00+00:00"), "x"))
    assert here == there
