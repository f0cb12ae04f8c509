"""Cursors of lists: where a page ended, opaque to whoever carries it."""

import base64
import binascii
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from shoal.runtime.errors import Invalid
from shoal.runtime.moments import in_utc

Position = TypeVar("Position", bound=tuple[Any, ...])

LARGEST = 2**63 - 1


def encode_cursor(position: tuple[object, ...]) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(position)).decode()


def decode_cursor(cursor: str, kind: type[Position]) -> Position:
    """Whoever carries it may have changed it: what no database could be asked for is refused."""
    try:
        position: Position = msgspec.json.decode(base64.urlsafe_b64decode(cursor), type=kind)
        for part in position:
            _check(part)
    except (binascii.Error, msgspec.DecodeError, ValueError, Invalid) as error:
        raise Invalid(
            "invalid_cursor",
            "The cursor is not one this list gave out.",
            hint="Begin again without a cursor.",
        ) from error
    return position


def _check(part: object) -> None:
    match part:
        case int() if abs(part) > LARGEST:
            raise ValueError("a number that no column holds")
        case str() if "\0" in part:
            raise ValueError("a character that no column holds")
        case datetime():
            in_utc(part)
