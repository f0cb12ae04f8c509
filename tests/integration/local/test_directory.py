"""A data directory that can be used is made private; any other is refused in one clear message."""

import os
import shutil
import stat
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from shoal.local.directory import DataDirectory, LocalSettings
from shoal.runtime.errors import Conflict, Invalid

from .conftest import Running

PREPARE = """
from pathlib import Path
from shoal.local.directory import DataDirectory
from shoal.runtime.errors import ShoalError
try:
    DataDirectory.prepare(Path("small/data"))
except ShoalError as error:
    print(error.code, error)
"""

START = """
import asyncio
from pathlib import Path
from shoal.local.directory import DataDirectory
from shoal.local.servers import servers_of
from shoal.runtime.errors import ShoalError

async def start():
    postgres, _ = servers_of(DataDirectory.prepare(Path("small/data")))
    try:
        await postgres.start()
    except ShoalError as error:
        print(error.code, error)
    finally:
        await postgres.stop()

asyncio.run(start())
"""

InOwnMounts = Callable[[str, str], Awaitable[str]]


def refusal(path: Path) -> str:
    with pytest.raises(Invalid) as refused:
        DataDirectory.prepare(path)
    assert refused.value.code == "data_dir_unusable"
    assert "--data-dir" in refused.value.hint
    return refused.value.message


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_everything_in_a_new_directory_is_private(empty: DataDirectory) -> None:
    directory = DataDirectory.prepare(empty.path)
    directory.secrets()
    directory.hold(url="").release()
    assert mode(directory.path) == 0o700
    for path in (*directory.path.iterdir(), directory.sockets):
        assert mode(path) == (0o700 if path.is_dir() else 0o600), path


def test_an_empty_directory_that_was_open_to_others_is_made_private(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d").chmod(0o777)
    assert mode(DataDirectory.prepare(tmp_path / "d").path) == 0o700


def test_a_used_directory_that_others_may_write_to_is_refused(tmp_path: Path) -> None:
    (tmp_path / "something").touch()
    tmp_path.chmod(0o777)
    assert "other users may write" in refusal(tmp_path)
    assert mode(tmp_path) == 0o777, "what is not ours is not changed"


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert f"{tmp_path / 'file'} is a file" in refusal(tmp_path / "file")
    assert "is a file" in refusal(tmp_path / "file" / "below")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "vault").touch()
    assert f"{tmp_path / 'data' / 'vault'} is a file" in refusal(tmp_path / "data")


def test_a_directory_of_somebody_else_is_refused(tmp_path: Path) -> None:
    foreign = Path("/usr")
    if os.geteuid() == 0:
        foreign = tmp_path / "foreign"
        foreign.mkdir()
        os.chown(foreign, 4321, 4321)
    assert f"belongs to user {foreign.stat().st_uid}" in refusal(foreign)


def test_a_place_where_nothing_can_be_made_is_refused() -> None:
    assert "cannot be used" in refusal(Path("/proc/shoal"))


async def test_a_read_only_file_system_is_named(in_own_mounts: InOwnMounts) -> None:
    said = await in_own_mounts("mkdir small; mount -t tmpfs -o ro none small", PREPARE)
    assert said.startswith("data_dir_unusable")
    assert "read-only" in said


async def test_a_full_disk_is_named_before_anything_starts(in_own_mounts: InOwnMounts) -> None:
    full = "mkdir small; mount -t tmpfs -o size=64k none small; "
    said = await in_own_mounts(
        full + "head -c 65536 /dev/zero > small/zeros || true; ls small > /dev/null", PREPARE
    )
    assert said.startswith("data_dir_unusable")
    assert "its disk is full" in said


async def test_a_disk_that_is_too_small_for_a_database_is_named(in_own_mounts: InOwnMounts) -> None:
    said = await in_own_mounts("mkdir small; mount -t tmpfs -o size=20m none small", START)
    assert said.startswith("postgres_failed_to_start"), said
    assert "No space left on device" in said
    assert "Traceback" not in said


def test_secrets_are_made_once_and_only_their_owner_can_read_them(empty: DataDirectory) -> None:
    directory = DataDirectory.prepare(empty.path)
    with ThreadPoolExecutor(8) as pool:
        seen = list(pool.map(lambda _: DataDirectory(empty.path).secrets(), range(32)))
    assert all(one == seen[0] for one in seen)
    assert mode(directory.secrets_file) == 0o600
    assert min(len(seen[0].jwt_secret), len(seen[0].link_secret)) >= 32
    assert seen[0].jwt_secret != seen[0].link_secret
    assert seen[0].jwt_secret not in repr(seen[0])
    assert not list(directory.path.glob(".secrets-*"))


def test_secrets_that_cannot_be_read_are_not_replaced(empty: DataDirectory) -> None:
    directory = DataDirectory.prepare(empty.path)
    directory.secrets_file.write_text("{")
    with pytest.raises(Invalid) as refused:
        directory.secrets()
    assert refused.value.code == "secrets_unreadable"
    assert directory.secrets_file.read_text() == "{"


async def test_a_path_that_no_socket_can_have_works_all_the_same(
    tmp_path: Path,
    template: Path,
    running: Callable[[DataDirectory], AbstractAsyncContextManager[Running]],
) -> None:
    odd_and_long = tmp_path / ("a, b'c%20d é" + "x" * 120)
    shutil.copytree(template, odd_and_long)
    directory = DataDirectory.prepare(odd_and_long)
    try:
        assert not directory.sockets.is_relative_to(directory.path)
        assert mode(directory.sockets) == 0o700
        async with running(directory) as servers:
            assert await servers.sql.fetchval("SELECT 1") == 1
            assert await servers.brain.ping()
    finally:
        shutil.rmtree(directory.sockets)


def test_a_socket_directory_that_somebody_else_prepared_is_refused(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 120)
    sockets = DataDirectory(path).sockets
    sockets.symlink_to(tmp_path)
    try:
        with pytest.raises(Invalid) as refused:
            DataDirectory.prepare(path)
    finally:
        sockets.unlink()
    assert refused.value.code == "socket_dir_not_private"


def test_half_of_a_restored_backup_is_refused(empty: DataDirectory) -> None:
    DataDirectory.prepare(empty.path).restore_mark.touch()
    with pytest.raises(Conflict) as refused:
        DataDirectory.prepare(empty.path)
    assert refused.value.code == "restore_unfinished"


def test_the_default_place_follows_the_xdg_rules(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert LocalSettings().data_dir == tmp_path / "shoal"
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert LocalSettings().data_dir == tmp_path / ".local" / "share" / "shoal"
