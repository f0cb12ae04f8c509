"""Configs on disk, by their hash. What is read is checked: a file that is not its hash is no config."""

import asyncio
import hashlib
import os
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from shoal.runtime.durable import clear_unfinished, write_durably
from shoal.runtime.errors import Invalid, Unavailable

Fetch = Callable[[str], Awaitable[bytes]]

HASH = re.compile(r"[0-9a-f]{64}")


class ConfigCache:
    """Of a bounded size: what was not used for longest goes first."""

    def __init__(self, folder: Path, fetch: Fetch, *, most_bytes: int) -> None:
        clear_unfinished(folder)
        self._folder = folder
        self._fetch = fetch
        self._most_bytes = most_bytes
        self._fetching: dict[str, asyncio.Task[bytes]] = {}

    async def get(self, config_hash: str) -> Any:
        """The config, from the disk or else from the server, which is asked once however many want it."""
        content = self.read(config_hash)
        if content is None:
            content = await asyncio.shield(self._fetched(config_hash))
        try:
            return msgspec.json.decode(content)
        except (msgspec.DecodeError, RecursionError) as error:
            raise Invalid("config_damaged", f"The config {config_hash} is not JSON: {error}.") from error

    def read(self, config_hash: str) -> bytes | None:
        file = self._file(config_hash)
        try:
            content = file.read_bytes()
        except FileNotFoundError:
            return None
        if hash_of(content) != config_hash:
            file.unlink(missing_ok=True)
            return None
        with suppress(FileNotFoundError):
            os.utime(file)
        return content

    def _fetched(self, config_hash: str) -> "asyncio.Task[bytes]":
        task = self._fetching.get(config_hash)
        if task is None:
            task = self._fetching[config_hash] = asyncio.create_task(self._fetch_and_keep(config_hash))
            task.add_done_callback(partial(self._forget, config_hash))
        return task

    def _forget(self, config_hash: str, task: "asyncio.Task[bytes]") -> None:
        self._fetching.pop(config_hash)
        if not task.cancelled():
            task.exception()  # whoever wanted it may have dropped its chunk

    async def _fetch_and_keep(self, config_hash: str) -> bytes:
        content = await self._fetch(config_hash)
        if hash_of(content) != config_hash:
            raise Unavailable("config_damaged", f"What the server sent is not the config {config_hash}.")
        write_durably(self._file(config_hash), content)
        self._make_room()
        return content

    def _make_room(self) -> None:
        files = sorted(self._folder.glob("*.json"), key=lambda file: file.stat().st_mtime_ns)
        size = sum(file.stat().st_size for file in files)
        for file in files[:-1]:
            if size <= self._most_bytes:
                return
            size -= file.stat().st_size
            file.unlink()

    def _file(self, config_hash: str) -> Path:
        if not HASH.fullmatch(config_hash):
            raise Invalid("config_damaged", "The hash of a config has 64 hexadecimal digits.")
        return self._folder / f"{config_hash}.json"


def hash_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
