"""Publishing: the shards and the manifest of a data set go into the vault, from where they are pushed."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from blake3 import blake3

from shoal.mesh.packing import find_files, shards_of, usual_shard_size
from shoal.runtime.manifests import read_manifest, write_manifest
from shoal.vault.store import Vault
from shoal.wire.data_sets import LARGEST_MANIFEST, DataSet, Shard

CONTENT_TYPE = "application/octet-stream"
LINK_S = 3600


@dataclass(frozen=True)
class Published:
    id: str
    data_set: DataSet
    uploaded: int
    """Shards that were not in the vault before."""


def shard_key(hash_: str) -> str:
    return f"mesh/shards/{hash_[:2]}/{hash_}"


def manifest_key(data_set_id: str) -> str:
    return f"mesh/data-sets/{data_set_id}.json"


async def publish_folder(
    vault: Vault,
    folder: Path,
    *,
    name: str,
    shard_size: int = 0,
    on_progress: Callable[[int, int], None] = lambda _done, _size: None,
) -> Published:
    """Put what the vault does not have yet, shards first: a manifest there is a data set that is whole."""
    files = await asyncio.to_thread(find_files, folder)
    size = sum(one.file.size for one in files)
    shards: list[Shard] = []
    uploaded = done = 0
    cut = shards_of(files, shard_size or usual_shard_size(size))
    while (content := await asyncio.to_thread(_next, cut)) is not None:
        hash_ = await asyncio.to_thread(lambda data: blake3(data).hexdigest(), content)
        shards.append(Shard(hash_, len(content)))
        there = await vault.find(shard_key(hash_))
        if there is None or there.size != len(content):
            await vault.put(shard_key(hash_), content, content_type=CONTENT_TYPE)
            uploaded += 1
        done += len(content)
        on_progress(done, size)
    data_set = DataSet(name=name, files=[one.file for one in files], shards=shards)
    body = write_manifest(data_set)
    data_set_id = blake3(body).hexdigest()
    await vault.put(manifest_key(data_set_id), body, content_type="application/json")
    return Published(data_set_id, data_set, uploaded)


async def load_manifest(vault: Vault, data_set_id: str) -> tuple[DataSet, bytes]:
    body = bytearray()
    async for block in vault.get(manifest_key(data_set_id), end=LARGEST_MANIFEST + 1):
        body += block
    return read_manifest(bytes(body)), bytes(body)


async def shard_link(vault: Vault, hash_: str) -> str:
    """Where the origin gives out a shard, for an hour."""
    return await vault.link(shard_key(hash_), content_type=CONTENT_TYPE, expires_in=timedelta(seconds=LINK_S))


def _next(shards: Iterator[bytes]) -> bytes | None:
    return next(shards, None)
