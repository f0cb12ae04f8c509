import os
from pathlib import Path

import pytest

from shoal.mesh.packing import find_files, shards_of, usual_shard_size
from shoal.runtime.errors import Invalid

KIB = 1024


def write(folder: Path, **files: bytes) -> Path:
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def test_shards_are_the_files_end_to_end(tmp_path: Path) -> None:
    write(tmp_path, a=b"1" * 10, b=b"", c=b"3" * 25)
    files = find_files(tmp_path)
    assert [one.file.path for one in files] == ["a", "b", "c"]
    assert [len(one) for one in shards_of(files, 8)] == [8, 2, 8, 8, 8, 1]
    assert b"".join(shards_of(files, 8)) == b"1" * 10 + b"3" * 25


def test_small_files_lie_together_and_a_large_one_has_shards_of_its_own(tmp_path: Path) -> None:
    large = os.urandom(20)
    write(tmp_path, a=b"1", b=b"2", m=large, z=b"3")
    before = list(shards_of(find_files(tmp_path), 8))
    write(tmp_path, a=b"longer than before")
    after = list(shards_of(find_files(tmp_path), 8))
    kept = [large[:8], large[8:16], large[16:]]
    assert all(one in before and one in after for one in kept)


def test_links_are_refused_and_so_is_nothing(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="no bytes"):
        find_files(tmp_path)
    write(tmp_path, a=b"1")
    (tmp_path / "link").symlink_to("a")
    with pytest.raises(Invalid, match="link"):
        find_files(tmp_path)
    (tmp_path / "link").unlink()
    (tmp_path / "folder").symlink_to("/etc")
    with pytest.raises(Invalid, match="link"):
        find_files(tmp_path)


def test_a_file_that_changes_while_it_is_read_is_noticed(tmp_path: Path) -> None:
    files = find_files(write(tmp_path, a=b"1" * 100))
    write(tmp_path, a=b"1" * 50)
    with pytest.raises(Invalid, match="changed"):
        list(shards_of(files, 8))
    write(tmp_path, a=b"1" * 150)
    with pytest.raises(Invalid, match="changed"):
        list(shards_of(files, 8))


@pytest.mark.parametrize(
    ("size", "shard"), [(1, 1024), (256 * 1024 * KIB, 1024), (5 * 1024**3, 32 * 1024), (10**12, 64 * 1024)]
)
def test_the_usual_size_of_a_shard_gives_some_hundreds(size: int, shard: int) -> None:
    assert usual_shard_size(size) == shard * KIB
