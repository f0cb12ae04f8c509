"""Each test has a Valkey of its own, on a socket in a folder of its own."""

import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from redis.asyncio import Redis

from shoal.brain.connection import Brain
from tests.support.generations import binary_of_valkey

from .valkey_server import ValkeyServer


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A folder whose path leaves room for a socket's name: the system allows about 100 bytes."""
    with tempfile.TemporaryDirectory(prefix="shoal-") as folder:
        yield Path(folder)


@pytest.fixture
async def valkey(short_folder: Path, valkey_generation: str) -> AsyncIterator[ValkeyServer]:
    server = ValkeyServer.on_socket(short_folder)
    server.binary = binary_of_valkey(valkey_generation)
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
def valkey_url(valkey: ValkeyServer) -> str:
    return valkey.url


@pytest.fixture
def client(brain: Brain) -> Redis:
    return brain.client
