"""A vault in a real folder: nothing escapes it, and what it acknowledged stays."""

import asyncio
import os
import shutil
import sys
import tracemalloc
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from shoal.runtime.errors import Conflict, Forbidden, Invalid, NotFound, Unavailable
from shoal.vault.links import Grant
from shoal.vault.settings import VaultSettings
from shoal.vault.store import Vault, open_vault

from .conftest import NOW

TEXT = "text/plain"


async def read(vault: Vault, key: str) -> bytes:
    return b"".join([block async for block in vault.get(key)])


def incoming(root: Path) -> list[Path]:
    return inside(root / ".incoming")


def inside(path: Path) -> list[Path]:
    return list(path.iterdir())


def open_descriptors() -> int:
    return len(inside(Path("/dev/fd")))


async def test_an_object_is_a_file_at_its_key(folder: Vault, root: Path) -> None:
    await folder.put("jobs/7/report.pdf", b"pdf", content_type="application/pdf")
    assert (root / "jobs/7/report.pdf").read_bytes() == b"pdf"
    assert incoming(root) == []


async def test_a_vault_opened_again_has_what_was_put(folder: Vault, root: Path) -> None:
    await folder.put("a/b", b"x", content_type=TEXT)
    again = open_vault(VaultSettings(vault_url=root.as_uri()))
    assert await read(again, "a/b") == b"x"


@pytest.mark.skipif(sys.platform != "linux", reason="reads a descriptor's name out of /proc")
async def test_an_acknowledged_object_was_synced_with_all_folders_above_it(
    folder: Vault, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    real_sync, real_rename = os.fsync, os.rename

    def sync(descriptor: int) -> None:
        steps.append(f"sync {Path(f'/proc/self/fd/{descriptor}').readlink()}")
        real_sync(descriptor)

    def rename(source: str, target: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
        steps.append("rename")
        real_rename(source, target, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    monkeypatch.setattr("os.fsync", sync)
    monkeypatch.setattr("os.rename", rename)
    await folder.put("a/b/c", b"x", content_type=TEXT)
    assert steps[0].startswith(f"sync {root / '.incoming'}/")
    assert steps[1:] == ["rename", *(f"sync {path}" for path in (root / "a/b", root / "a", root))]


async def test_a_link_inside_the_folder_is_never_followed(folder: Vault, root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    await folder.put("real/file", b"x", content_type=TEXT)
    (root / "file").symlink_to(outside / "secret")
    (root / "dir").symlink_to(outside)
    (root / "real" / "inner").symlink_to(root / "real" / "file")
    for key in ("file", "dir/secret", "real/inner"):
        assert await folder.find(key) is None
        with pytest.raises(NotFound):
            await read(folder, key)
    assert [found.key async for found in folder.list("")] == ["real/file"]
    assert [found.key async for found in folder.list("dir")] == []
    with pytest.raises(Conflict):
        await folder.put("dir/new", b"x", content_type=TEXT)
    await folder.delete(["file", "dir/secret", "real/inner"])
    assert sorted(path.name for path in outside.iterdir()) == ["secret"]
    await folder.put("file", b"ours", content_type=TEXT)
    assert (outside / "secret").read_text() == "secret", "a put replaces the link, not its target"
    assert await read(folder, "file") == b"ours"


async def test_what_is_no_ordinary_file_is_not_an_object(folder: Vault, root: Path) -> None:
    os.mkfifo(root / "pipe")
    (root / "empty-folder").mkdir()
    for key in ("pipe", "empty-folder"):
        assert await folder.find(key) is None
        with pytest.raises(NotFound):
            await read(folder, key)
    await folder.delete(["pipe", "empty-folder"])
    assert (root / "pipe").exists()


async def test_the_root_itself_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "vault").symlink_to(tmp_path / "disk")
    vault = open_vault(VaultSettings(vault_url=(tmp_path / "vault").as_uri()))
    await vault.put("a", b"x", content_type=TEXT)
    assert (tmp_path / "disk" / "a").read_bytes() == b"x"


async def test_a_key_that_needs_a_folder_where_an_object_is_is_a_conflict(folder: Vault) -> None:
    await folder.put("a/b", b"x", content_type=TEXT)
    for key in ("a", "a/b/c"):
        with pytest.raises(Conflict) as refusal:
            await folder.put(key, b"y", content_type=TEXT)
        assert refusal.value.code == "object_key_conflict"
    assert await read(folder, "a/b") == b"x"


async def test_deleting_removes_the_folders_that_became_empty(folder: Vault, root: Path) -> None:
    for key in ("a/b/c/1", "a/2"):
        await folder.put(key, b"x", content_type=TEXT)
    await folder.delete(["a/b/c/1"])
    assert sorted(path.name for path in (root / "a").iterdir()) == ["2"]
    await folder.delete(["a/2"])
    assert inside(root) == [root / ".incoming"]


async def test_puts_and_deletes_under_one_folder_do_not_disturb_each_other(folder: Vault) -> None:
    async def come_and_go(name: int) -> None:
        for _ in range(25):
            await folder.put(f"x/y/{name}", b"x", content_type=TEXT)
            assert await read(folder, f"x/y/{name}") == b"x"
            await folder.delete([f"x/y/{name}"])

    await asyncio.gather(*(come_and_go(name) for name in range(4)))


async def test_a_folder_removed_in_the_midst_of_a_put_is_made_again(
    folder: Vault, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_rename = os.rename
    removed: list[Path] = []

    def rename(source: str, target: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
        if not removed:
            for path in (root / "x" / "y", root / "x"):
                path.rmdir()
                removed.append(path)
        real_rename(source, target, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    monkeypatch.setattr("os.rename", rename)
    await folder.put("x/y/z", b"x", content_type=TEXT)
    assert len(removed) == 2
    assert await read(folder, "x/y/z") == b"x"


async def test_a_reader_keeps_the_object_it_opened(folder: Vault) -> None:
    old = b"o" * 3_000_000
    await folder.put("a", old, content_type=TEXT)
    blocks = folder.get("a")
    got = [await anext(blocks)]
    await folder.put("a", b"new", content_type=TEXT)
    got += [block async for block in blocks]
    assert b"".join(got) == old


async def test_no_descriptor_is_left_open(folder: Vault) -> None:
    async def failing() -> AsyncIterator[bytes]:
        yield b"x"
        raise KeyError("source")

    await folder.put("a/b", bytes(3_000_000), content_type=TEXT)
    before = open_descriptors()
    for _ in range(5):
        blocks = folder.get("a/b")
        await anext(blocks)
        await blocks.aclose()
        listing = folder.list("")
        await anext(listing)
        await listing.aclose()
        with pytest.raises(KeyError):
            await folder.put("a/c", failing(), content_type=TEXT)
        with pytest.raises(NotFound):
            await read(folder, "a/c")
    assert open_descriptors() == before


async def test_leftovers_of_a_crash_go_after_a_day_and_not_before(folder: Vault, root: Path) -> None:
    for name, age_h in (("old", 25), ("young", 23)):
        path = root / ".incoming" / name
        path.write_bytes(b"half")
        moment = path.stat().st_mtime - age_h * 3600
        os.utime(path, (moment, moment))
    open_vault(VaultSettings(vault_url=root.as_uri()))
    assert [path.name for path in incoming(root)] == ["young"]


async def test_a_failed_put_leaves_no_file_behind(folder: Vault, root: Path) -> None:
    async def failing() -> AsyncIterator[bytes]:
        yield b"x" * 2_000_000
        raise KeyError("source")

    with pytest.raises(KeyError):
        await folder.put("a", failing(), content_type=TEXT)
    assert incoming(root) == []


async def test_a_folder_that_is_gone_is_unavailable_and_not_empty(folder: Vault, root: Path) -> None:
    await folder.put("a", b"x", content_type=TEXT)
    shutil.rmtree(root)
    for call in (
        lambda: folder.find("a"),
        lambda: read(folder, "a"),
        lambda: folder.delete(["a"]),
        lambda: folder.put("a", b"x", content_type=TEXT),
        folder.check,
    ):
        with pytest.raises(Unavailable):
            await call()
    with pytest.raises(Unavailable):
        _ = [found async for found in folder.list("")]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
async def test_a_full_disk_says_so_and_leaves_nothing(folder: Vault, root: Path) -> None:
    real_open = os.open

    def onto_a_full_disk(path: str | Path, flags: int, *rest: int, **options: int) -> int:
        if flags & os.O_CREAT:
            real_open(path, flags, *rest, **options)
            return real_open("/dev/full", os.O_WRONLY)
        return real_open(path, flags, *rest, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.open", onto_a_full_disk)
        with pytest.raises(Unavailable) as refusal:
            await folder.put("a", b"x", content_type=TEXT)
    assert refusal.value.code == "vault_full"
    assert incoming(root) == []


def test_a_root_that_cannot_be_made_is_explained(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Unavailable) as refusal:
        open_vault(VaultSettings(vault_url=(tmp_path / "file" / "vault").as_uri()))
    assert refusal.value.hint


async def test_a_link_is_verified_and_grants_the_object(folder: Vault) -> None:
    url = await folder.link(
        "a/b c.pdf",
        content_type="application/pdf",
        filename="Bericht ü.pdf",
        expires_in=timedelta(hours=1),
    )
    parts = urlsplit(url)
    assert f"{parts.scheme}://{parts.netloc}" == "http://127.0.0.1:8700"
    assert folder.signer is not None
    key = unquote(parts.path.removeprefix("/files/"))
    grant = folder.signer.verify(key, parts.query, NOW)
    assert grant == Grant("a/b c.pdf", "application/pdf", "Bericht ü.pdf", NOW + timedelta(hours=1))
    with pytest.raises(Forbidden):
        folder.signer.verify(key, parts.query, NOW + timedelta(hours=1))


async def test_a_link_without_a_secret_says_what_to_set(root: Path) -> None:
    vault = open_vault(VaultSettings(vault_url=root.as_uri()))
    assert vault.signer is None
    with pytest.raises(Invalid) as refusal:
        await vault.link("a", content_type=TEXT, expires_in=timedelta(hours=1))
    assert refusal.value.code == "vault_links_not_configured"
    assert "SHOAL_VAULT_LINK_SECRET" in refusal.value.hint


async def test_a_crowded_folder_is_listed_without_holding_all_its_names(folder: Vault, root: Path) -> None:
    for number in range(8_000):
        (root / f"{number:0100}").touch()
    tracemalloc.start()
    try:
        count = 0
        async for _ in folder.list(""):
            count += 1
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == 8_000
    assert peak < 1_000_000
