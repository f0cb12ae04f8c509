"""A chart: what each system makes of the moment a person was born."""

import msgspec

from examples.storybook.people import NuclearParams, Person, System
from examples.storybook.sky import moon_longitude, precession, sun_longitude

SIGNS = (
    *("Aries", "Taurus", "Gemini", "Cancer", "Leo", "Virgo"),
    *("Libra", "Scorpio", "Sagittarius", "Capricorn", "Aquarius", "Pisces"),
)
ELEMENTS = ("fire", "earth", "air", "water")
NAKSHATRAS = (
    *("Ashwini", "Bharani", "Krittika", "Rohini", "Mrigashira", "Ardra", "Punarvasu"),
    *("Pushya", "Ashlesha", "Magha", "Purva-Phalguni", "Uttara-Phalguni", "Hasta", "Chitra"),
    *("Swati", "Vishakha", "Anuradha", "Jyeshtha", "Mula", "Purva-Ashadha", "Uttara-Ashadha"),
    *("Shravana", "Dhanishta", "Shatabhisha", "Purva-Bhadrapada", "Uttara-Bhadrapada", "Revati"),
)
# The gates of human design in the order in which the Sun passes them, from 2° of Aquarius on.
FIRST_GATE_AT = 302.0
GATES = (
    *(41, 19, 13, 49, 30, 55, 37, 63, 22, 36, 25, 17, 21, 51, 42, 3),
    *(27, 24, 2, 23, 8, 20, 16, 35, 45, 12, 15, 52, 39, 53, 62, 56),
    *(31, 33, 7, 4, 29, 59, 40, 64, 47, 6, 46, 18, 48, 57, 32, 50),
    *(28, 44, 1, 43, 14, 34, 9, 5, 26, 11, 10, 58, 38, 54, 61, 60),
)
LINES_OF_A_GATE = 6


class Chart(msgspec.Struct, frozen=True):
    name: str
    place: str
    year: int
    sun: str
    moon: str
    element: str
    nakshatra: str
    gate: int
    line: int


class Charts(msgspec.Struct, frozen=True):
    """What the first task hands to all others."""

    person1: Chart
    person2: Chart
    systems: tuple[System, ...]
    chapters: int


def draw_charts(params: NuclearParams) -> Charts:
    return Charts(
        person1=draw_chart(params.person1),
        person2=draw_chart(params.person2),
        systems=params.systems,
        chapters=params.chapters,
    )


def draw_chart(person: Person) -> Chart:
    sun = sun_longitude(person.born)
    moon = moon_longitude(person.born)
    sidereal_moon = (moon - precession(person.born)) % 360
    lines_passed = int((sun - FIRST_GATE_AT) % 360 * len(GATES) * LINES_OF_A_GATE / 360)
    return Chart(
        name=person.name,
        place=person.place,
        year=person.born.year,
        sun=SIGNS[int(sun // 30)],
        moon=SIGNS[int(moon // 30)],
        element=ELEMENTS[int(sun // 30) % len(ELEMENTS)],
        nakshatra=NAKSHATRAS[int(sidereal_moon * len(NAKSHATRAS) / 360)],
        gate=GATES[lines_passed // LINES_OF_A_GATE],
        line=lines_passed % LINES_OF_A_GATE + 1,
    )
