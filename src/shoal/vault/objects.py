"""What is known about an object."""

from datetime import datetime

import msgspec


class Stored(msgspec.Struct, frozen=True):
    """An object that has just been written; ``sha256`` in hexadecimal."""

    key: str
    size: int
    sha256: str


class Found(msgspec.Struct, frozen=True):
    """An object that is there."""

    key: str
    size: int
    modified: datetime
