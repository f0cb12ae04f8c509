"""Where the Sun and the Moon stood, in degrees of ecliptic longitude.

The low-precision series of the Astronomical Almanac: good to 0.01° for the Sun and 0.3° for the Moon
in this century, and to a few degrees a thousand years away.
"""

from datetime import UTC, datetime, timedelta
from math import radians, sin

NOON_OF_2000 = datetime(2000, 1, 1, 12, tzinfo=UTC)
DAYS_OF_A_CENTURY = 36525.0

# (amplitude, phase, degrees per century)
MOON_TERMS = (
    (6.29, 135.0, 477198.87),
    (-1.27, 259.3, -413335.36),
    (0.66, 235.7, 890534.22),
    (0.21, 269.9, 954397.74),
    (-0.19, 357.5, 35999.05),
    (-0.11, 186.5, 966404.03),
)


def sun_longitude(moment: datetime) -> float:
    days = _days(moment)
    anomaly = radians(357.528 + 0.9856003 * days)
    return (280.460 + 0.9856474 * days + 1.915 * sin(anomaly) + 0.020 * sin(2 * anomaly)) % 360


def moon_longitude(moment: datetime) -> float:
    centuries = _days(moment) / DAYS_OF_A_CENTURY
    waves = sum(size * sin(radians(phase + speed * centuries)) for size, phase, speed in MOON_TERMS)
    return (218.32 + 481267.881 * centuries + waves) % 360


def precession(moment: datetime) -> float:
    """How far the signs have moved from the stars: what the vedic count takes off (Lahiri, roughly)."""
    return 23.853 + 1.3969 * _days(moment) / DAYS_OF_A_CENTURY


def _days(moment: datetime) -> float:
    return (moment - NOON_OF_2000) / timedelta(days=1)
