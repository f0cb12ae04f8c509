"""The filter of one guild: certainly not a member, or perhaps one. Version 1 of its format.

``docs/explanation/membership-filters.md`` describes the format for other languages; the tests read it with a
reader of their own.
"""

import base64
import binascii
import hashlib
import math
import operator
import struct
from collections.abc import Iterable

from rbloom import Bloom

from shoal.discord.rules import capacity_for

VERSION = 1
RATE = 9e-7
"""For the capacity. What comes out is at most 1e-6, because the number of probes is a whole one."""
BITS_PER_MEMBER = -math.log(RATE) / math.log(2) ** 2

_MAGIC = b"SHBF"
_HEAD = struct.Struct("<4sBBHQQQ")
_CHECKSUM_BYTES = 32
_MOST_PROBES = 64


class FilterUnreadable(ValueError):
    """Not a filter of this guild in a version we know. Whoever meets one has no filter: nobody is let in."""


def key_of(user_id: int) -> int:
    """What a filter knows of a user: half of the SHA-256 of their id in decimal digits."""
    return int.from_bytes(hashlib.sha256(b"%d" % user_id).digest()[:16], "little", signed=True)


class MembershipFilter:
    def __init__(self, guild_id: int, bloom: Bloom, members: int) -> None:
        self.guild_id = guild_id
        self.members = members
        self._bloom = bloom

    @classmethod
    def build(cls, guild_id: int, user_ids: Iterable[int], *, members: int) -> "MembershipFilter":
        """With room for the members there are, and some that join."""
        bloom = Bloom(capacity_for(members), RATE, operator.index)
        bloom.update(map(key_of, user_ids))
        return cls(guild_id, bloom, members)

    def add(self, user_id: int) -> None:
        self._bloom.add(key_of(user_id))
        self.members += 1

    def has_key(self, key: int) -> bool:
        return key in self._bloom

    def __contains__(self, user_id: int) -> bool:
        return key_of(user_id) in self._bloom

    @property
    def is_full(self) -> bool:
        """Whether one more member would raise the rate above what is promised."""
        return self.members >= math.floor(self._bloom.size_in_bits / BITS_PER_MEMBER)

    @property
    def size_in_bytes(self) -> int:
        return self._bloom.size_in_bits // 8

    def dump(self) -> str:
        saved = self._bloom.save_bytes()
        probes, bits = int.from_bytes(saved[:8], "little"), saved[8:]
        head = _HEAD.pack(_MAGIC, VERSION, probes, 0, self.guild_id, self.members, len(bits) * 8)
        body = head + bits
        return base64.b64encode(body + hashlib.sha256(body).digest()).decode()

    @classmethod
    def load(cls, guild_id: int, text: str) -> "MembershipFilter":
        try:
            raw = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError) as error:
            raise FilterUnreadable(f"not base64: {error}") from error
        if len(raw) < _HEAD.size + _CHECKSUM_BYTES:
            raise FilterUnreadable("too short")
        body, checksum = raw[:-_CHECKSUM_BYTES], raw[-_CHECKSUM_BYTES:]
        magic, version, probes, flags, whose, members, size = _HEAD.unpack_from(body)
        bits = body[_HEAD.size :]
        if magic != _MAGIC or version != VERSION or flags:
            raise FilterUnreadable(f"not a filter of version {VERSION}")
        if hashlib.sha256(body).digest() != checksum:
            raise FilterUnreadable("its checksum is another one")
        if whose != guild_id:
            raise FilterUnreadable(f"it is the filter of {whose}")
        if not 1 <= probes <= _MOST_PROBES or not bits or size != len(bits) * 8:
            raise FilterUnreadable("its sizes do not fit")
        bloom = Bloom.load_bytes(probes.to_bytes(8, "little") + bits, operator.index)
        return cls(guild_id, bloom, members)
