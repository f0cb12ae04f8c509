"""The order in which spells are cast, as a small script.

A line names a spell, and perhaps what must hold for it to be cast. Of the lines whose spell is off its
cooldown and can be paid for, the first one that holds is cast. ``#`` begins a comment::

    # keep the fire burning, and spend what is left
    combustion if mana >= 60
    fireball   if combustion.active > 0 and time < 280
    scorch     if mana < 30
    fireball

A condition is ``VALUE OPERATOR NUMBER``, several are joined by ``and``. Operators are ``<``, ``<=``, ``>``
and ``>=``. Values are:

* ``time``: the seconds since the fight began, and ``left``: those until it ends;
* ``mana``: how much there is;
* ``SPELL.active``: the seconds its boost still lasts, and ``SPELL.cooldown``: those until it can be cast.

That is the whole language. A script is matched against it, line by line, and never evaluated.
"""

import operator
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from shoal.app.streams import Numbers

MOST_LINES = 100
MOST_CONDITIONS = 10

SPELL = r"[a-z][a-z0-9_]{0,30}"
LINE = re.compile(rf"(?P<spell>{SPELL})(?: +if +(?P<conditions>\S.*))?")
VALUE = rf"(?P<value>time|left|mana|(?P<of>{SPELL})\.(?:active|cooldown))"
NUMBER = r"(?P<number>\d{1,9}(?:\.\d{1,6})?)"
CONDITION = re.compile(rf"{VALUE} *(?P<sign><=|>=|<|>) *{NUMBER}")
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True)
class Condition:
    value: str
    sign: str
    number: float

    def holds(self, values: Mapping[str, Numbers]) -> Any:
        """For each of many fights: whether it holds there."""
        return OPERATORS[self.sign](values[self.value], self.number)


@dataclass(frozen=True)
class Line:
    spell: str
    conditions: tuple[Condition, ...]


def parse_rotation(script: str, spells: Collection[str]) -> list[Line]:
    """The lines of a script; ``ValueError`` names the first one that is not in the language."""
    lines = []
    for number, written in enumerate(script.splitlines(), start=1):
        text = written.partition("#")[0].strip()
        if text:
            try:
                lines.append(_parse_line(text, spells))
            except ValueError as error:
                raise ValueError(f"line {number} of the rotation: {error}") from None
    if not 1 <= len(lines) <= MOST_LINES:
        raise ValueError(f"a rotation has 1 to {MOST_LINES} lines, not {len(lines)}")
    return lines


def _parse_line(text: str, spells: Collection[str]) -> Line:
    line = LINE.fullmatch(text)
    if line is None:
        raise ValueError("it is not SPELL, nor SPELL if CONDITION")
    _check_spell(line["spell"], spells)
    written = re.split(r" +and +", line["conditions"]) if line["conditions"] else []
    if len(written) > MOST_CONDITIONS:
        raise ValueError(f"it has {len(written)} conditions; {MOST_CONDITIONS} are allowed")
    return Line(line["spell"], tuple(_parse_condition(one.strip(), spells) for one in written))


def _parse_condition(text: str, spells: Collection[str]) -> Condition:
    condition = CONDITION.fullmatch(text)
    if condition is None:
        raise ValueError(f"{text[:60]!r} is not VALUE OPERATOR NUMBER")
    if condition["of"] is not None:
        _check_spell(condition["of"], spells)
    return Condition(condition["value"], condition["sign"], float(condition["number"]))


def _check_spell(name: str, spells: Collection[str]) -> None:
    if name not in spells:
        raise ValueError(f"there is no spell {name!r}")
