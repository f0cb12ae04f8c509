"""``rights.txt``: lines of a name and what each actor may, under a header that names the actors."""

from collections.abc import Iterable
from pathlib import Path

FILE = Path(__file__).with_name("rights.txt")

Line = tuple[str, ...]
"""The name of a table or function, then one cell for each actor."""


def read_expected(kind: str) -> list[Line]:
    """The lines below the header that begins with ``kind``; the header comes first."""
    blocks = FILE.read_text(encoding="utf-8").split("\n\n")
    (found,) = [block for block in blocks if block.startswith(kind)]
    return [tuple(line.split()) for line in found.splitlines()]


def named_in_rights() -> set[str]:
    return {line[0] for kind in ("table", "function") for line in read_expected(kind)[1:]}


def differences(kind: str, found: Iterable[Line]) -> list[str]:
    """The lines that are missing (+) and those that are not so (-), as they would stand in the file."""
    found, expected = set(found), set(read_expected(kind)[1:])
    lines = [("+", line) for line in found - expected] + [("-", line) for line in expected - found]
    return [f"{sign} {as_written(line)}" for sign, line in sorted(lines, key=lambda one: one[1])]


def as_written(line: Line) -> str:
    return f"{line[0]:34}" + "".join(f"{cell:10}" for cell in line[1:]).rstrip()
