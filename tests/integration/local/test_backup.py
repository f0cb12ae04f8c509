"""A backup made while everything works can be restored and is consistent."""

import asyncio
import stat
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import asyncpg
import pytest

from shoal.local.backup import back_up, restore
from shoal.local.directory import DataDirectory
from shoal.local.manifest import MANIFEST
from shoal.local.processes import processes_in
from shoal.runtime.errors import Conflict, Invalid, ShoalError, Unavailable

from .conftest import Running

Start = Callable[[DataDirectory], AbstractAsyncContextManager[Running]]

Eventually = Callable[[Callable[[], Awaitable[object]]], Awaitable[None]]


@pytest.fixture(scope="module")
def backup(template: Path, templates: Path) -> Path:
    """A backup of a directory that nobody uses."""
    directory = DataDirectory.prepare(template)
    (directory.vault / "kept").write_text("bytes")
    asyncio.run(back_up(directory, templates / "backup"))
    assert not processes_in(directory.postgres / "data", ("postgres",)), "left at rest"
    assert not processes_in(directory.valkey, ("valkey-server",)), "left at rest"
    assert directory.holder() is None
    return templates / "backup"


async def refusal(code: str, source: Path, directory: DataDirectory) -> ShoalError:
    with pytest.raises(ShoalError) as refused:
        await restore(source, directory)
    assert refused.value.code == code
    return refused.value


async def test_a_backup_made_under_load_restores_to_one_consistent_state(
    directory: DataDirectory, tmp_path: Path, running: Start, eventually: Eventually
) -> None:
    written = 0
    backed_up = asyncio.Event()

    async def work(sql: "asyncpg.Connection[asyncpg.Record]") -> None:
        """Write a file, then a row for it and one for its neighbour: as jobs do."""
        nonlocal written
        while not backed_up.is_set():
            (directory.vault / f"{written}").write_text("bytes")
            async with sql.transaction():
                await sql.execute("INSERT INTO artifacts VALUES ($1)", written)
                await sql.execute("INSERT INTO tasks VALUES ($1)", written)
            written += 1

    async def enough() -> bool:
        return written >= 20

    hold = directory.hold(url="")
    async with running(directory) as source:
        await source.sql.execute("CREATE TABLE artifacts (n int); CREATE TABLE tasks (n int)")
        await source.brain.set("kept", "yes")
        working = asyncio.create_task(work(source.sql))
        await eventually(enough)
        before = written
        backup = await back_up(directory, tmp_path / "backup")
        after = written
        backed_up.set()
        await working
        secrets = directory.secrets()
    hold.release()
    assert after > before, "work went on meanwhile"
    assert backup.size_bytes > 20 * 2**20
    assert not (tmp_path / "backup.partial").exists()

    copy = DataDirectory(tmp_path / "copy")
    await restore(backup.path, copy)
    assert copy.secrets() == secrets
    assert stat.S_IMODE(copy.secrets_file.stat().st_mode) == 0o600
    for _ in range(2):  # and it stays so: the append-only file goes on from the snapshot
        async with running(copy) as restored:
            rows = [row["n"] for row in await restored.sql.fetch("SELECT n FROM artifacts")]
            tasks = [row["n"] for row in await restored.sql.fetch("SELECT n FROM tasks")]
            assert await restored.brain.get("kept") == b"yes"
        assert sorted(rows) == sorted(tasks) == list(range(len(rows)))
        assert before <= len(rows) <= after + 1
        assert all((copy.vault / str(n)).read_text() == "bytes" for n in rows)


async def test_only_an_empty_directory_is_restored_into(backup: Path, tmp_path: Path) -> None:
    used = DataDirectory.prepare(tmp_path / "used")
    (used.vault / "mine").write_text("precious")
    await refusal("data_dir_not_empty", backup, used)
    assert (used.vault / "mine").read_text() == "precious"
    held = DataDirectory.prepare(tmp_path / "held")
    hold = held.hold(url="")
    await refusal("data_dir_in_use", backup, held)
    hold.release()


async def test_a_torn_or_damaged_backup_is_refused_and_leaves_nothing(backup: Path, tmp_path: Path) -> None:
    copy = DataDirectory(tmp_path / "copy")
    victim = backup / "postgres" / "data" / "PG_VERSION"
    whole = victim.read_bytes()
    for damaged in (whole[:-1], whole[:-1] + bytes([whole[-1] ^ 1]), None):
        if damaged is None:
            victim.unlink()
        else:
            victim.write_bytes(damaged)
        assert "PG_VERSION" in (await refusal("backup_damaged", backup, copy)).message
        left = [path for path in copy.path.rglob("*") if path.is_file()]
        assert [path.name for path in left] == ["shoal.lock"]
    manifest = backup / MANIFEST
    text = manifest.read_text()
    manifest.write_text(text.replace('"secrets.json"', '"../secrets.json"'))
    await refusal("backup_format_unknown", backup, copy)
    manifest.write_text(text[: len(text) // 2])
    await refusal("not_a_backup", backup, copy)
    manifest.unlink()
    await refusal("not_a_backup", backup, copy)
    victim.write_bytes(whole)
    manifest.write_text(text)
    await restore(backup, copy)
    assert (copy.vault / "kept").read_text() == "bytes"


async def test_a_backup_goes_to_a_new_place_outside_of_what_it_copies(
    empty: DataDirectory, tmp_path: Path
) -> None:
    directory = DataDirectory.prepare(empty.path)
    with pytest.raises(Conflict) as refused:
        await back_up(directory, tmp_path)
    assert refused.value.code == "backup_target_exists"
    with pytest.raises(Invalid) as inside:
        await back_up(directory, directory.vault / "backup")
    assert inside.value.code == "backup_target_inside"
    with pytest.raises(Invalid) as missing:
        await back_up(DataDirectory(tmp_path / "absent"), tmp_path / "other")
    assert missing.value.code == "data_dir_missing"


async def test_a_backup_that_fails_says_why_and_leaves_nothing(empty: DataDirectory, tmp_path: Path) -> None:
    directory = DataDirectory.prepare(empty.path)
    (tmp_path / "file").touch()
    with pytest.raises(Unavailable) as failed:
        await back_up(directory, tmp_path / "file" / "backup")
    assert failed.value.code == "backup_failed"
    hold = directory.hold(url="")  # held by somebody whose servers do not run
    with pytest.raises(Unavailable) as unreachable:
        await back_up(directory, tmp_path / "backup")
    hold.release()
    assert unreachable.value.code == "backup_failed"
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["data", "file"]  # noqa: ASYNC240 - one look
