import msgspec
import pytest

from shoal.runtime.errors import Invalid
from shoal.runtime.manifests import read_manifest, write_manifest
from shoal.wire.data_sets import DataFile, DataSet, Shard

HASH = "ab" * 32


def body_of(*files: tuple[str, int], size: int | None = None) -> bytes:
    total = sum(count for _, count in files) if size is None else size
    shards = [Shard(HASH, total)] if total else []
    data_set = DataSet(name="n", files=[DataFile(path, count) for path, count in files], shards=shards)
    return msgspec.json.encode(data_set)


def test_a_manifest_is_read_as_it_was_written() -> None:
    data_set = DataSet(
        name="model-v2",
        files=[DataFile("a/b.bin", 3), DataFile("run.sh", 0, executable=True)],
        shards=[Shard(HASH, 3)],
    )
    assert read_manifest(write_manifest(data_set)) == data_set


@pytest.mark.parametrize(
    "path",
    ["/etc/passwd", "../up",
     "a/../../up", "a/./b", "a//b", "a/", ".", "..", "a\\b", "a\0b", "a\nb", "x" * 256,
     "\u202etxt.exe", ".shoal-data-set", ".shoal-data-set/x"],
)  # fmt: skip
def test_a_path_that_could_lead_elsewhere_is_refused(path: str) -> None:
    with pytest.raises(Invalid, match="cannot be used"):
        read_manifest(body_of((path, 1)))


@pytest.mark.parametrize(
    "body",
    [
        body_of(("a", 1), ("a", 1)),
        body_of(("b", 1), ("a", 1)),
        body_of(("a", 1), ("a/b", 1)),
        body_of(("a", 1), size=2),
        body_of(("a", 0)),
        b"[]",
        b"\xff",
        b"",
        body_of(("a", 1)).replace(b'"files"', b'"more":1,"files"'),
        body_of(("a", 1)).replace(HASH.encode(), b"../../" + HASH[6:].encode()),
        body_of(("a", 1)).replace(b'"name":"n"', b'"name":"../n"'),
    ],
)
def test_a_manifest_that_is_not_whole_and_harmless_is_refused(body: bytes) -> None:
    with pytest.raises(Invalid) as refused:
        read_manifest(body)
    assert refused.value.code == "data_set_malformed"
