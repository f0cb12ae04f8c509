"""What a data set is made of, as its manifest says: files, laid end to end and cut into shards.

``runtime.manifests`` reads and writes manifests. The id of a data set is the BLAKE3 hash of its manifest.
"""

from typing import Annotated

import msgspec

PIECE = 1024 * 1024
"""What travels in one message, and what a transfer goes on from."""
MOST_SHARDS = 100_000
MOST_FILES = 1_000_000
LARGEST_SHARD = 4 * 1024**3
LARGEST_MANIFEST = 256 * 1024 * 1024
LONGEST_PATH = 1024
LONGEST_SEGMENT = 255

MARK = ".shoal-data-set"
"""Stands in a folder in which a data set was laid out, with its id. No file of a data set is called so."""

Hash = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
Name = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]


class DataFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    path: Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_PATH)]
    size: Annotated[int, msgspec.Meta(ge=0)]
    executable: bool = False


class Shard(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    hash: Hash
    size: Annotated[int, msgspec.Meta(ge=1, le=LARGEST_SHARD)]


class DataSet(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """``files`` in order of their paths. The bytes of all files in that order are the bytes of all shards."""

    name: Name
    files: Annotated[list[DataFile], msgspec.Meta(min_length=1, max_length=MOST_FILES)]
    shards: Annotated[list[Shard], msgspec.Meta(min_length=1, max_length=MOST_SHARDS)]

    @property
    def size(self) -> int:
        return sum(shard.size for shard in self.shards)
