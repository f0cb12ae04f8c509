"""Bytes on their way in: cut into blocks, counted, hashed and held to a limit."""

import asyncio
import hashlib
from collections.abc import AsyncGenerator, AsyncIterable
from contextlib import aclosing
from pathlib import Path

from shoal.runtime.errors import TooLarge
from shoal.vault.threads import in_thread

BLOCK = 1024 * 1024

Source = bytes | Path | AsyncIterable[bytes]


class Intake:
    """One source, read once. ``size`` and ``sha256`` are those of what ``blocks`` gave so far."""

    def __init__(self, source: Source, *, max_bytes: int | None) -> None:
        self._source = source
        self._max_bytes = max_bytes
        self._hash = hashlib.sha256()
        self.size = 0

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()

    def bound(self) -> int | None:
        """At most how many bytes will come, if that is known."""
        if isinstance(self._source, bytes):
            return len(self._source)
        if isinstance(self._source, Path):
            return self._source.stat().st_size
        return self._max_bytes

    async def blocks(self) -> AsyncGenerator[bytes, None]:
        """The bytes, in blocks of at least ``BLOCK`` but for the last one."""
        buffer = bytearray()
        async with aclosing(_chunks(self._source)) as chunks:
            async for chunk in chunks:
                self.size += len(chunk)
                if self._max_bytes is not None and self.size > self._max_bytes:
                    raise TooLarge(
                        "artifact_too_large",
                        f"The artifact has more than the {self._max_bytes} bytes that are allowed.",
                        hint="Make it smaller, or write it as several artifacts.",
                    )
                buffer += chunk
                if len(buffer) >= BLOCK:
                    yield await self._hashed(bytes(buffer))
                    buffer.clear()
        if buffer:
            yield await self._hashed(bytes(buffer))

    async def _hashed(self, block: bytes) -> bytes:
        # A block takes about a millisecond: too long for the event loop that serves everybody.
        await asyncio.to_thread(self._hash.update, block)
        return block


async def _chunks(source: Source) -> AsyncGenerator[bytes, None]:
    if isinstance(source, bytes):
        for start in range(0, len(source), BLOCK):
            yield source[start : start + BLOCK]
    elif isinstance(source, Path):
        with source.open("rb") as file:
            while chunk := await in_thread(file.read, BLOCK):
                yield chunk
    else:
        async for chunk in source:
            yield chunk
