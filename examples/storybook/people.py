"""What the job takes: two people, the systems their book speaks of, and how many chapters it has."""

from datetime import datetime
from typing import Annotated, Literal

import msgspec

System = Literal["vedic", "western", "human_design"]

EARLIEST_YEAR, LATEST_YEAR = 1000, 2999  # the formulas of the sky are good for these
MOST_CHAPTERS = 16

# No control characters, and something to see at both ends. (`$` would allow a line break behind it.)
LINE = r"^[^\s\x00-\x1f\x7f](?:[^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f])?(?![\s\S])"


class Person(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=80, pattern=LINE)]
    born: Annotated[
        datetime, msgspec.Meta(tz=True, description="With its offset: 1988-03-27T06:40:00+02:00.")
    ]
    place: Annotated[str, msgspec.Meta(min_length=1, max_length=120, pattern=LINE)]

    def __post_init__(self) -> None:
        if not EARLIEST_YEAR <= self.born.year <= LATEST_YEAR:
            raise ValueError(f"a birth is between the years {EARLIEST_YEAR} and {LATEST_YEAR}")


class NuclearParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    person1: Person
    person2: Person
    systems: Annotated[tuple[System, ...], msgspec.Meta(min_length=1, max_length=3)] = (
        "vedic",
        "western",
        "human_design",
    )
    chapters: Annotated[int, msgspec.Meta(ge=1, le=MOST_CHAPTERS)] = MOST_CHAPTERS

    def __post_init__(self) -> None:
        if len(set(self.systems)) != len(self.systems):
            raise ValueError("a system is named once")
