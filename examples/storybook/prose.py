"""The prose of the template writer, checked when it is read."""

import tomllib
from functools import cache
from pathlib import Path

import msgspec

from examples.storybook.people import System

FILE = Path(__file__).with_name("prose.toml")


class Chapter(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    title: str
    openings: tuple[str, ...]
    habits: tuple[str, ...]
    scenes: tuple[str, ...]
    endings: tuple[str, ...]

    @property
    def slug(self) -> str:
        return self.title.lower().replace(" ", "-")


class Readings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a system has to say of one person, and of two."""

    alone: tuple[str, ...]
    together: tuple[str, ...]


class Role(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    keynotes: tuple[str, ...]


class Prose(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    chapters: tuple[Chapter, ...]
    systems: dict[System, Readings]
    traits: dict[str, tuple[str, ...]]
    emblems: dict[str, str]
    roles: tuple[Role, ...]
    elements: dict[str, str]


@cache
def prose() -> Prose:
    return msgspec.convert(tomllib.loads(FILE.read_text(encoding="utf-8")), Prose)


def chapter(number: int) -> Chapter:
    """Chapters are counted from one."""
    return prose().chapters[number - 1]
