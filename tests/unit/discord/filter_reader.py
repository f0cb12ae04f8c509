"""A reader of membership filters, written from docs/explanation/membership-filters.md alone.

It imports nothing of Shoal and no Bloom filter: what it can read, any language can.
"""

import base64
import hashlib

MULTIPLIER = 47026247687942121848144207491837418733
WORD = 2**128


class ReadFilter:
    def __init__(self, text: str) -> None:
        raw = base64.b64decode(text, validate=True)
        body, checksum = raw[:-32], raw[-32:]
        assert hashlib.sha256(body).digest() == checksum
        assert body[0:4] == b"SHBF"
        assert body[4] == 1
        assert body[6:8] == b"\0\0"
        self.probes = body[5]
        self.guild_id = int.from_bytes(body[8:16], "little")
        self.members = int.from_bytes(body[16:24], "little")
        self.size = int.from_bytes(body[24:32], "little")
        self.bits = body[32:]
        assert len(self.bits) * 8 == self.size

    def may_contain(self, user_id: int) -> bool:
        return all(self.bits[bit // 8] >> (bit % 8) & 1 for bit in self.bits_of(user_id))

    def bits_of(self, user_id: int) -> list[int]:
        state = int.from_bytes(hashlib.sha256(str(user_id).encode("ascii")).digest()[:16], "little")
        found = []
        for _ in range(self.probes):
            state = (state * MULTIPLIER + 1) % WORD
            found.append((state >> 32) % 2**64 % self.size)
        return found
