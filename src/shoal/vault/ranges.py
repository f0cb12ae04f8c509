"""The HTTP Range header, as RFC 9110 section 14 has it, for a single range. Pure."""

import re
from dataclasses import dataclass

from shoal.runtime.errors import Invalid

_SINGLE = re.compile(r"bytes=[ \t]*(?:([0-9]+)-([0-9]*)|-([0-9]+))[ \t]*", re.IGNORECASE)
_FARTHEST = 10**18


@dataclass(frozen=True)
class Range:
    """Bytes from ``start`` up to, not including, ``end``: never empty, always inside the object."""

    start: int
    end: int

    def content_range(self, size: int) -> str:
        """The value of Content-Range."""
        return f"bytes {self.start}-{self.end - 1}/{size}"


class Unsatisfiable(Invalid):
    """The range lies outside the object. Answer 416 with ``content_range``."""

    def __init__(self, size: int) -> None:
        super().__init__(
            "range_not_satisfiable",
            f"The range lies outside the object, which has {size} bytes.",
            hint="Ask for less, or leave the Range header out.",
        )
        self.content_range = f"bytes */{size}"


def parse_range(header: str | None, size: int) -> Range | None:
    """The range to answer with 206, or None to answer with the whole object and 200.

    * None for no header, another unit, several ranges, or a header that is malformed (which
      includes one that ends before it starts): such a header is to be ignored.
    * Raises ``Unsatisfiable`` for a range that starts behind the end, or for the last 0 bytes.
    * None for the last bytes of an empty object: 206 cannot say "no bytes".
    """
    match = _SINGLE.fullmatch(header or "")
    if match is None:
        return None
    first, last, suffix = match.groups()
    if suffix is not None:
        length = min(_position(suffix), size)
        if _position(suffix) == 0:
            raise Unsatisfiable(size)
        return Range(size - length, size) if length else None
    start = _position(first)
    end = _position(last) + 1 if last else size
    if last and end <= start:
        return None
    if start >= size:
        raise Unsatisfiable(size)
    return Range(start, min(end, size))


def _position(digits: str) -> int:
    """A number; one with more digits than any object needs is as far away as can be."""
    digits = digits.lstrip("0")
    return int(digits or "0") if len(digits) <= 18 else _FARTHEST
