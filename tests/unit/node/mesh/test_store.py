import os
from pathlib import Path

import pytest
from blake3 import blake3

from shoal.node.mesh.layout import lay_out
from shoal.node.mesh.store import ShardStore
from shoal.runtime.errors import Conflict, NotFound, TooLarge
from shoal.runtime.manifests import write_manifest
from shoal.wire.data_sets import PIECE, DataFile, DataSet, Shard


def a_store(root: Path, *, quota: int = 0) -> ShardStore:
    store = ShardStore(root, quota=quota)
    store.open()
    return store


def shard_of(content: bytes) -> Shard:
    return Shard(blake3(content).hexdigest(), len(content))


def keep(store: ShardStore, content: bytes) -> Shard:
    shard = shard_of(content)
    with store.begin(shard) as arrival:
        arrival.write(content[arrival.came :])
        store.finish(arrival)
    return shard


def data_set_of(name: str, *contents: bytes) -> tuple[str, bytes]:
    size = sum(map(len, contents))
    body = write_manifest(
        DataSet(name=name, files=[DataFile("f", size)], shards=[shard_of(one) for one in contents])
    )
    return blake3(body).hexdigest(), body


def read(store: ShardStore, shard: Shard) -> bytes:
    return b"".join(store.read_through([shard]))


def test_a_shard_is_there_when_its_hash_was_right(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    shard = keep(store, b"x" * 100)
    assert store.has(shard)
    assert read(store, shard) == b"x" * 100


def test_wrong_bytes_never_get_a_name(tmp_path: Path) -> None:
    """Trap 6.12: what a peer sends counts when it is what the manifest says."""
    store = a_store(tmp_path)
    shard = shard_of(b"right")
    with store.begin(shard) as arrival:
        arrival.write(b"wrong")
        with pytest.raises(Conflict):
            store.finish(arrival)
    assert not store.has(shard)
    assert list(tmp_path.glob("arriving/*")) == []


def test_a_shard_that_is_too_long_or_ends_early_is_refused(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    with store.begin(shard_of(b"12345")) as arrival:
        arrival.write(b"1234")
        with pytest.raises(Conflict, match="ended early"):
            store.finish(arrival)
        with pytest.raises(Conflict, match="more bytes"):
            arrival.write(b"56")


def test_after_a_crash_what_came_is_gone_on_with_from_the_last_whole_piece(tmp_path: Path) -> None:
    """Trap 6.6: a large shard on a slow link is not begun anew for ever."""
    content = os.urandom(3 * PIECE)
    store = a_store(tmp_path)
    arrival = store.begin(shard_of(content))
    arrival.write(content[: 2 * PIECE + 77])
    store.close()  # what a killed process leaves: the file as it is, and no lock

    store = a_store(tmp_path)
    with store.begin(shard_of(content)) as again:
        assert again.came == 2 * PIECE
        assert again.next_piece == 2
        again.write(content[again.came :])
        store.finish(again)
    assert read(store, shard_of(content)) == content
    arrival.close()


def test_what_was_whole_is_found_again_under_a_new_epoch(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    shard, id_, epoch = keep(store, b"x" * 9), store.server_id, store.epoch
    store.close()
    store = a_store(tmp_path)
    assert store.has(shard)
    assert (store.server_id, store.epoch) == (id_, epoch + 1)


def test_what_has_changed_on_the_disk_is_not_given_on(tmp_path: Path) -> None:
    """Trap 6.11: after a start, a shard is verified before it is given on for the first time."""
    store = a_store(tmp_path)
    shard = keep(store, b"x" * 9)
    store.close()
    file = tmp_path / "shards" / shard.hash[:2] / shard.hash
    file.write_bytes(b"y" * 9)
    store = a_store(tmp_path)
    with pytest.raises(NotFound):
        store.open_shard(shard.hash)
    assert not store.has(shard)
    assert not file.exists()


def test_a_file_that_was_cut_short_is_not_the_shard(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    shard = keep(store, b"x" * 9)
    store.close()
    (tmp_path / "shards" / shard.hash[:2] / shard.hash).write_bytes(b"x" * 8)
    assert not a_store(tmp_path).has(shard)


def test_two_processes_do_not_share_a_folder(tmp_path: Path) -> None:
    a_store(tmp_path)
    with pytest.raises(Conflict, match="Another process"):
        a_store(tmp_path)


def test_shards_stay_as_long_as_a_manifest_refers_to_them(tmp_path: Path) -> None:
    """Trap 6.13: a shard that two data sets share goes with the last of them."""
    store = a_store(tmp_path)
    shared, old, new = b"s" * 10, b"o" * 10, b"n" * 10
    first, first_body = data_set_of("a", shared, old)
    second, second_body = data_set_of("b", shared, new)
    store.remember(first, first_body)
    store.remember(second, second_body)
    for content in (shared, old, new):
        keep(store, content)
    store.forget(first)
    assert store.collect() == 10
    assert [store.has(shard_of(one)) for one in (shared, old, new)] == [True, False, True]


def test_a_full_quota_makes_room_by_the_data_set_that_was_not_wanted_longest(tmp_path: Path) -> None:
    store = a_store(tmp_path, quota=250)
    ids = {}
    for at, name in enumerate("abc"):
        ids[name], body = data_set_of(name, name.encode() * 100)
        store.remember(ids[name], body)
        os.utime(tmp_path / "sets" / f"{ids[name]}.json", (at, at))
        with store.begin(shard_of(name.encode() * 100), wanted=ids[name]) as arrival:
            arrival.write(name.encode() * 100)
            store.finish(arrival)
    assert [store.has(shard_of(one * 100)) for one in (b"a", b"b", b"c")] == [False, True, True]
    with pytest.raises(TooLarge):
        store.begin(shard_of(b"d" * 300))


def test_a_manifest_is_the_one_it_is_named_after(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    id_, body = data_set_of("a", b"1")
    with pytest.raises(Exception, match="named after"):
        store.remember("0" * 64, body)
    store.remember(id_, body)
    assert list(store.data_sets()) == [id_]


def test_files_are_laid_out_and_replaced_as_a_whole_and_nothing_else_is(tmp_path: Path) -> None:
    store = a_store(tmp_path / "store")
    content = b"hello world"
    keep(store, content)
    data_set = DataSet(
        name="n",
        files=[DataFile("a/one", 5), DataFile("a/two", 0), DataFile("b", 6, executable=True)],
        shards=[shard_of(content)],
    )
    target = tmp_path / "out"
    lay_out(data_set, "id-1", target, store.read_through)
    assert (target / "a/one").read_bytes() == b"hello"
    assert (target / "b").stat().st_mode & 0o100
    assert not (target / "a/one").stat().st_mode & 0o100
    (target / "left over").touch()
    lay_out(data_set, "id-2", target, store.read_through)
    assert not (target / "left over").exists()
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "precious").touch()
    with pytest.raises(Conflict):
        lay_out(data_set, "id-1", foreign, store.read_through)
    assert (foreign / "precious").exists()
