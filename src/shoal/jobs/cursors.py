"""Cursors of lists: where a page ended, opaque to whoever carries it."""

import base64
import binascii
from datetime import datetime
from uuid import UUID

import msgspec

from shoal.runtime.errors import Invalid


def encode_cursor(created_at: datetime, job_id: UUID) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode([created_at, job_id])).decode()


def decode_cursor(cursor: str) -> tuple[datetime, UUID]:
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(cursor), type=tuple[datetime, UUID])
    except (binascii.Error, msgspec.DecodeError, ValueError) as error:
        raise Invalid(
            "invalid_cursor",
            "The cursor is not one this list gave out.",
            hint="Begin again without a cursor.",
        ) from error
