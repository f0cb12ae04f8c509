"""What holds for every vault: whole objects or none, streamed, counted and hashed."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from shoal.runtime.errors import Invalid, NotFound, TooLarge
from shoal.vault.intake import BLOCK
from shoal.vault.store import Found, Stored, Vault

TEXT = "text/plain"
BIG = bytes(range(256)) * (BLOCK // 64)


async def stream(content: bytes, *, chunk: int) -> AsyncIterator[bytes]:
    for start in range(0, len(content), chunk):
        yield content[start : start + chunk]


async def read(vault: Vault, key: str, start: int = 0, end: int | None = None) -> bytes:
    return b"".join([block async for block in vault.get(key, start=start, end=end)])


async def keys_in(vault: Vault, prefix: str = "") -> list[str]:
    return sorted([found.key async for found in vault.list(prefix)])


@pytest.mark.parametrize("content", [b"", b"x", BIG], ids=["empty", "small", "big"])
@pytest.mark.parametrize("kind", ["bytes", "path", "small chunks", "one chunk"])
async def test_what_is_put_is_got_again(vault: Vault, tmp_path: Path, content: bytes, kind: str) -> None:
    source: bytes | Path | AsyncIterator[bytes] = content
    if kind == "path":
        source = tmp_path / "source"
        source.write_bytes(content)
    elif kind == "small chunks":
        source = stream(content, chunk=100_001)
    elif kind == "one chunk":
        source = stream(content, chunk=len(content) + 1)
    stored = await vault.put("a/b c/ü#%.bin", source, content_type=TEXT)
    digest = hashlib.sha256(content).hexdigest()
    assert stored == Stored("a/b c/ü#%.bin", len(content), digest)
    assert await read(vault, "a/b c/ü#%.bin") == content


async def test_an_object_larger_than_one_part_arrives_whole(vault: Vault) -> None:
    piece = bytes(range(256)) * 4096 * 5
    digest = hashlib.sha256(piece * 4).hexdigest()
    stored = await vault.put("big", stream(piece * 4, chunk=3_333_333), content_type=TEXT)
    assert stored.size == len(piece) * 4
    assert stored.sha256 == digest
    got = hashlib.sha256()
    async for block in vault.get("big"):
        got.update(block)
    assert got.hexdigest() == digest


@pytest.mark.parametrize(
    ("start", "end"),
    [(0, None), (3, None), (0, 0), (2, 5), (5, 2), (9, 100), (10, None), (50, 60), (0, 10)],
)
async def test_a_piece_of_an_object(vault: Vault, start: int, end: int | None) -> None:
    await vault.put("a", b"0123456789", content_type=TEXT)
    assert await read(vault, "a", start, end) == b"0123456789"[start:end]


async def test_a_piece_over_several_blocks(vault: Vault) -> None:
    await vault.put("a", BIG, content_type=TEXT)
    assert await read(vault, "a", 7, 3 * BLOCK + 5) == BIG[7 : 3 * BLOCK + 5]


async def test_a_negative_position_is_a_defect_of_the_caller(vault: Vault) -> None:
    with pytest.raises(ValueError, match="not negative"):
        vault.get("a", start=-1)


async def test_what_is_not_there_is_not_found(vault: Vault) -> None:
    await vault.put("a/b", b"x", content_type=TEXT)
    for key in ("nope", "a", "a/b/c", "a/nope"):
        assert await vault.find(key) is None
        for start in (0, 1):
            with pytest.raises(NotFound) as refusal:
                await read(vault, key, start)
            assert refusal.value.code == "object_not_found"


async def test_an_object_is_found_with_its_size_and_time(vault: Vault) -> None:
    before = datetime.now(UTC) - timedelta(seconds=5)
    await vault.put("a/b", b"12345", content_type=TEXT)
    found = await vault.find("a/b")
    assert found is not None
    assert found == Found("a/b", 5, found.modified)
    assert before <= found.modified <= datetime.now(UTC) + timedelta(seconds=5)


async def test_a_prefix_lists_whole_segments(vault: Vault) -> None:
    every = ["a/b/1", "a/b/c/2", "a/bc/3", "d"]
    for key in every:
        await vault.put(key, b"x", content_type=TEXT)
    assert await keys_in(vault) == every
    assert await keys_in(vault, "a/b") == ["a/b/1", "a/b/c/2"]
    assert await keys_in(vault, "a/b/") == ["a/b/1", "a/b/c/2"]
    assert await keys_in(vault, "nope") == []
    assert await keys_in(vault, "d") == []


async def test_more_objects_than_one_page_are_listed(vault: Vault) -> None:
    await asyncio.gather(*(vault.put(f"n/{index}", b"", content_type=TEXT) for index in range(510)))
    assert len(await keys_in(vault, "n")) == 510


async def test_deleting_what_is_not_there_is_fine(vault: Vault) -> None:
    for key in ("a/1", "a/2", "b"):
        await vault.put(key, b"x", content_type=TEXT)
    await vault.delete(["nope", "a/1", "a/1/x", "a", "a/nope/x", "b"])
    assert await keys_in(vault) == ["a/2"]
    await vault.delete([])


async def test_the_last_put_wins_as_a_whole(vault: Vault) -> None:
    await vault.put("a", BIG, content_type=TEXT)
    await vault.put("a", b"short", content_type=TEXT)
    assert await read(vault, "a") == b"short"


@pytest.mark.parametrize("kind", ["bytes", "stream"])
async def test_too_large_is_refused_and_leaves_nothing(vault: Vault, kind: str) -> None:
    size = 3 * BLOCK

    def source() -> bytes | AsyncIterator[bytes]:
        return bytes(size) if kind == "bytes" else stream(bytes(size), chunk=1000)

    with pytest.raises(TooLarge) as refusal:
        await vault.put("a/b", source(), content_type=TEXT, max_bytes=size - 1)
    assert refusal.value.code == "artifact_too_large"
    assert str(size - 1) in refusal.value.message
    assert await keys_in(vault) == []
    assert (await vault.put("a/b", source(), content_type=TEXT, max_bytes=size)).size == size


async def test_an_endless_source_is_stopped_at_the_limit(vault: Vault) -> None:
    given = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal given
        while True:
            given += BLOCK
            yield bytes(BLOCK)

    with pytest.raises(TooLarge):
        await vault.put("a", endless(), content_type=TEXT, max_bytes=10 * BLOCK)
    assert given <= 12 * BLOCK


@pytest.mark.parametrize("after", [0, 1, 40])
async def test_a_source_that_fails_leaves_what_was_there(vault: Vault, after: int) -> None:
    async def failing() -> AsyncIterator[bytes]:
        for _ in range(after):
            yield bytes(BLOCK)
        raise FileNotFoundError("the source itself")

    with pytest.raises(FileNotFoundError, match="the source itself"):
        await vault.put("new", failing(), content_type=TEXT)
    await vault.put("old", b"before", content_type=TEXT)
    with pytest.raises(FileNotFoundError, match="the source itself"):
        await vault.put("old", failing(), content_type=TEXT)
    assert await keys_in(vault) == ["old"]
    assert await read(vault, "old") == b"before"


@pytest.mark.parametrize("after", [0, 1, 40])
async def test_a_put_that_is_cancelled_leaves_what_was_there(vault: Vault, after: int) -> None:
    await vault.put("old", b"before", content_type=TEXT)
    for key in ("old", "new"):
        stuck = asyncio.Event()

        async def never_ending(stuck: asyncio.Event) -> AsyncIterator[bytes]:
            for _ in range(after):
                yield bytes(BLOCK)
            stuck.set()
            await asyncio.Event().wait()

        task = asyncio.create_task(vault.put(key, never_ending(stuck), content_type=TEXT))
        await stuck.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert await keys_in(vault) == ["old"]
    assert await read(vault, "old") == b"before"


async def test_what_is_not_yet_whole_cannot_be_seen(vault: Vault) -> None:
    half, rest = asyncio.Event(), asyncio.Event()

    async def in_two_halves() -> AsyncIterator[bytes]:
        for _ in range(40):
            yield bytes(BLOCK)
        half.set()
        await rest.wait()
        yield b"end"

    task = asyncio.create_task(vault.put("a", in_two_halves(), content_type=TEXT))
    await half.wait()
    assert await vault.find("a") is None
    assert await keys_in(vault) == []
    rest.set()
    assert (await task).size == 40 * BLOCK + 3
    assert await keys_in(vault) == ["a"]


async def test_a_bad_key_or_content_type_reaches_no_store(vault: Vault) -> None:
    for key in ("../a", "/a", "a//b"):
        for call in (
            lambda key=key: vault.put(key, b"", content_type=TEXT),
            lambda key=key: read(vault, key),
            lambda key=key: vault.find(key),
            lambda key=key: keys_in(vault, key),
            lambda key=key: vault.delete(["fine", key]),
            lambda key=key: vault.link(key, content_type=TEXT, expires_in=timedelta(hours=1)),
        ):
            with pytest.raises(Invalid) as refusal:
                await call()
            assert refusal.value.code == "invalid_object_key"
    with pytest.raises(Invalid):
        await vault.put("a", b"", content_type="text\r\n")
    assert await keys_in(vault) == []


async def test_a_link_lives_between_a_second_and_a_week(vault: Vault) -> None:
    for span in (timedelta(0), timedelta(seconds=-1), timedelta(days=8)):
        with pytest.raises(Invalid) as refusal:
            await vault.link("a", content_type=TEXT, expires_in=span)
        assert refusal.value.code == "invalid_link_expiry"


async def test_a_vault_that_works_passes_its_check(vault: Vault) -> None:
    await vault.check()
    assert await keys_in(vault) == []
