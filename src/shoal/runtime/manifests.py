"""Reading and writing the manifest of a data set.

A manifest comes over the network and names files that are written to a disk, so it is read strictly: a path
stays below its folder, names no file twice, and sizes add up. Its id is the BLAKE3 hash of its body, so a
manifest with that id is the one its publisher made.
"""

from itertools import pairwise

import msgspec

from shoal.runtime.errors import Invalid
from shoal.wire.data_sets import LARGEST_MANIFEST, LONGEST_SEGMENT, MARK, DataSet


def write_manifest(data_set: DataSet) -> bytes:
    """The body; read again, so that nobody publishes what nobody can read."""
    body = msgspec.json.encode(data_set)
    read_manifest(body)
    return body


def read_manifest(body: bytes) -> DataSet:
    """Raises ``Invalid`` for whatever is not a whole, harmless manifest."""
    if len(body) > LARGEST_MANIFEST:
        raise malformed(f"it has more than {LARGEST_MANIFEST} bytes")
    try:
        data_set = msgspec.json.decode(body, type=DataSet)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise malformed(str(error)) from error
    check_data_set(data_set)
    return data_set


def check_data_set(data_set: DataSet) -> None:
    if sum(file.size for file in data_set.files) != data_set.size:
        raise malformed("its files have not as many bytes as its shards")
    for file in data_set.files:
        if why := wrong_with_path(file.path):
            raise malformed(f"the path {file.path!r} {why}")
    parts = [file.path.split("/") for file in data_set.files]
    for before, after in pairwise(parts):
        if before >= after:
            raise malformed("its files are not in order, or one is named twice")
        if after[: len(before)] == before:
            raise malformed(f"{'/'.join(before)!r} is a file and a folder")


def wrong_with_path(path: str) -> str:
    """Why a file may not be called so; empty if it may. A path is relative, with '/' between names."""
    segments = path.split("/")
    if any(letter == "\\" or not letter.isprintable() for letter in path):
        return "has letters that no path should have"
    if {"", ".", ".."} & set(segments):
        return "does not stay in its folder"
    if segments[0] == MARK:
        return "is taken"
    if max(len(segment.encode()) for segment in segments) > LONGEST_SEGMENT:
        return "has a name that is too long"
    return ""


def malformed(why: str) -> Invalid:
    return Invalid("data_set_malformed", f"The data set cannot be used: {why}.")
