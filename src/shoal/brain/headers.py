"""The header of a Lua script: read it, and hold the code to it. Pure.

A script that passes uses every declared key and argument by its position, and none beyond.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from shoal.runtime.errors import Invalid

FIELDS = ("keys", "args", "returns", "touches")
PARTS = "uses"
NONE = "none"
TAIL = "..."

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_FIELD = re.compile(r"([a-z][a-z0-9_]*):(?:\s+(.*))?")
_COMMENT_OR_STRING = re.compile(
    r"""
      --\[(=*)\[.*?\]\1\]        # a long comment
    | --[^\n]*                   # a comment
    | \[(=*)\[.*?\]\2\]          # a long string
    | "(?:\\.|[^"\\\n])*"
    | '(?:\\.|[^'\\\n])*'
    """,
    re.VERBOSE | re.DOTALL,
)
_USE = re.compile(r"\b(KEYS|ARGV)\b(?:\s*\[\s*(\d+)\s*\])?")


@dataclass(frozen=True)
class Names:
    """The names of one list: fixed ones, one per position, then perhaps one for all the rest."""

    fixed: tuple[str, ...]
    tail: str | None = None

    @property
    def all(self) -> tuple[str, ...]:
        return (*self.fixed, self.tail) if self.tail else self.fixed


@dataclass(frozen=True)
class Header:
    summary: str
    keys: Names
    args: Names
    returns: str
    touches: tuple[str, ...]
    uses: tuple[str, ...] = ()


def read_header(name: str, source: str) -> Header:
    """The header of ``name``.lua; raises ``Invalid`` naming the file and what is wrong with it."""
    fields = _fields(name, source)
    for field in (name, *FIELDS):
        if not fields.get(field):
            raise _wrong(name, f"its header has no line '-- {field}: …'")
    if unknown := [field for field in fields if field not in (name, *FIELDS, PARTS)]:
        raise _wrong(name, f"its header has an unknown line '{unknown[0]}:'")
    keys = _names(name, "keys", fields["keys"])
    touches = _names(name, "touches", fields["touches"]).all
    if stray := set(touches) - set(keys.all):
        raise _wrong(name, f"it touches '{min(stray)}', which is not among its keys")
    header = Header(
        summary=fields[name],
        keys=keys,
        args=_names(name, "args", fields["args"]),
        returns=fields["returns"],
        touches=touches,
        uses=_names(name, PARTS, fields.get(PARTS, NONE)).all,
    )
    uses = list(_uses(source))
    _hold_to(name, "KEYS", header.keys, uses)
    _hold_to(name, "ARGV", header.args, uses)
    return header


def _fields(name: str, source: str) -> dict[str, str]:
    """The leading comment, by field. An indented line goes on with the field before it."""
    fields: dict[str, str] = {}
    current = ""
    for line in source.splitlines():
        if not line.startswith("--"):
            break
        text = line[2:]
        if text.startswith("   "):
            if not current:
                raise _wrong(name, "its header opens with an indented line")
            fields[current] += f" {text.strip()}"
        elif match := _FIELD.fullmatch(text.strip()):
            current = match[1]
            if current in fields:
                raise _wrong(name, f"its header says '{current}:' twice")
            fields[current] = (match[2] or "").strip()
        else:
            raise _wrong(name, f"its header line '{text.strip()}' is no '-- field: …'")
    return fields


def _names(name: str, field: str, text: str) -> Names:
    if text == NONE:
        return Names(())
    found = [part.strip() for part in text.split(",")]
    tail = None
    if found[-1].endswith(TAIL):
        tail = found.pop().removesuffix(TAIL)
    every = [*found, tail] if tail is not None else found
    for one in every:
        if not _NAME.fullmatch(one):
            raise _wrong(name, f"'{one}' in '{field}:' is not a name (or not in its place)")
    if len(set(every)) != len(every):
        raise _wrong(name, f"a name stands twice in '{field}:'")
    return Names(tuple(found), tail)


def _uses(source: str) -> Iterator[tuple[str, int | None]]:
    """Every use of KEYS and ARGV in the code; the position is None unless it is written out."""
    for match in _USE.finditer(_COMMENT_OR_STRING.sub(" ", source)):
        yield match[1], int(match[2]) if match[2] else None


def _hold_to(name: str, table: str, names: Names, uses: list[tuple[str, int | None]]) -> None:
    positions = {position for used, position in uses if used == table}
    loose = None in positions
    exact = {position for position in positions if position is not None}
    for index, declared in enumerate(names.fixed, start=1):
        if index not in exact:
            raise _wrong(name, f"'{declared}' is declared but {table}[{index}] is never used")
    if names.tail:
        if not loose and len(names.fixed) + 1 > max(exact, default=0):
            raise _wrong(name, f"'{names.tail}{TAIL}' is declared but never used")
        return
    if loose:
        raise _wrong(name, f"it uses {table} other than as {table}[number], without a '{TAIL}' name")
    if beyond := [position for position in exact if not 1 <= position <= len(names.fixed)]:
        raise _wrong(name, f"it uses {table}[{min(beyond)}], which its header does not declare")


def _wrong(name: str, what: str) -> Invalid:
    return Invalid(
        "invalid_script",
        f"The script {name}.lua cannot be loaded: {what}.",
        hint="See the docstring of shoal.brain for the header of a script.",
    )
