"""Cursors of lists: where a page ended, opaque to whoever carries it."""

import base64
import binascii
from typing import TypeVar

import msgspec

from shoal.runtime.errors import Invalid

Position = TypeVar("Position")


def encode_cursor(position: tuple[object, ...]) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(position)).decode()


def decode_cursor(cursor: str, kind: type[Position]) -> Position:
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(cursor), type=kind)
    except (binascii.Error, msgspec.DecodeError, ValueError) as error:
        raise Invalid(
            "invalid_cursor",
            "The cursor is not one this list gave out.",
            hint="Begin again without a cursor.",
        ) from error
