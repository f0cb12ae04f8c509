"""What a running task says: how far it is, what it writes, what it makes."""

import asyncio
import hashlib
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from shoal import App, Context, RetryAfter
from shoal.worker import heartbeats

from .workshop import Workshop, until

pytestmark = pytest.mark.newest_servers

RETRIED = "asked to be tried again in 0 s"

SAID = """SELECT progress, message FROM task_leases l JOIN job_tasks t ON t.id = l.task_id
           WHERE t.job_id = $1"""


async def test_progress_is_sent_while_the_task_runs(workshop: Workshop) -> None:
    app = App()
    heard = threading.Event()

    @app.task("draw")
    def draw(context: Context) -> None:
        context.progress(0.5, "half\0way")
        heard.wait(20)

    job = await workshop.start("draw")
    async with workshop.worker(app, worker_lease_s=600):
        said = await until(lambda: workshop.client.connection.fetchrow(SAID, job.id))
        assert (said["progress"], said["message"]) == (0.5, "half\ufffdway")
        heard.set()
        assert (await workshop.ended(job))["status"] == "complete"


async def test_lines_are_kept_in_their_order_also_those_of_a_failed_attempt(workshop: Workshop) -> None:
    app = App()

    @app.task("write")
    def write(context: Context) -> None:
        context.log.info("attempt", number=context.attempt)
        context.log.debug("one\0")
        if context.attempt == 1:
            raise ValueError("no")

    job = await workshop.start("write", backoff_s=0)
    async with workshop.worker(app):
        await workshop.ended(job)
    assert await workshop.lines_of(job) == [
        "attempt number=1", "one\ufffd", "ValueError: no", "attempt number=2", "one\ufffd",
    ]  # fmt: skip


async def test_no_line_is_lost_however_the_heartbeats_meet_the_end_of_the_task(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They take lines every moment, and the attempt ends while they are sending some."""
    monkeypatch.setattr(heartbeats, "LOOK_EVERY_S", 0.0)
    app = App()

    @app.task("write", retries=99)
    def write(context: Context) -> None:
        for number in range(20):
            context.log.info("line", at=f"{context.attempt}.{number}")
        if context.attempt < 15:
            raise RetryAfter(0)

    job = await workshop.start("write", max_attempts=20)
    async with workshop.worker(app):
        assert (await workshop.ended(job))["status"] == "complete"
    lines = [line for line in await workshop.lines_of(job) if line != RETRIED]
    assert lines == [f"line at={attempt}.{number}" for attempt in range(1, 16) for number in range(20)]


async def test_lines_of_a_long_task_do_not_wait_for_its_end(workshop: Workshop) -> None:
    app = App()
    heard = asyncio.Event()

    @app.task("write")
    async def write(context: Context) -> None:
        context.log.info("begun")
        await heard.wait()

    job = await workshop.start("write")
    async with workshop.worker(app, worker_lease_s=600):
        await until(lambda: workshop.lines_of(job))
        heard.set()
        await workshop.ended(job)
    assert await workshop.lines_of(job) == ["begun"]


async def test_artifacts_are_kept_from_bytes_text_paths_and_streams(workshop: Workshop) -> None:
    app = App()
    folders: list[Path] = []

    async def stream() -> AsyncIterator[bytes]:
        yield b"st"
        yield b"ream"

    @app.task("make")
    def make(context: Context) -> None:
        folders.append(context.workdir)
        file = context.workdir / "file.mp3"
        file.write_bytes(b"file")
        context.artifact("bytes.bin", b"bytes", type="data")
        context.artifact("text.txt", "t\u00eaxt", type="text", content_type="text/plain")
        context.artifact("file.mp3", file, type="audio_mp3", duration_seconds=1.5)
        context.artifact("stream.bin", stream(), type="data")

    job = await workshop.start("make")
    async with workshop.worker(app):
        assert (await workshop.ended(job))["status"] == "complete"
    expected = {
        "bytes.bin": (b"bytes", None),
        "text.txt": ("t\u00eaxt".encode(), None),
        "file.mp3": (b"file", 1.5),
        "stream.bin": (b"stream", None),
    }
    rows = await workshop.artifacts_of(job)
    assert [row["name"] for row in rows] == list(expected)
    for row in rows:
        content, duration = expected[row["name"]]
        assert (workshop.vault / row["storage_path"]).read_bytes() == content
        assert row["file_size_bytes"] == len(content)
        assert row["sha256"] == hashlib.sha256(content).hexdigest()
        assert row["duration_seconds"] == duration
    assert not folders[0].exists()


async def test_a_fallback_format_stands_beside_its_primary_one(workshop: Workshop) -> None:
    app = App()

    @app.task("sing")
    def sing(context: Context) -> None:
        context.artifact("song.mp3", b"mp3", type="audio_mp3", content_type="audio/mpeg")
        context.artifact(
            "song.m4a", b"m4a", type="audio_m4a", content_type="audio/mp4", fallback_for="song.mp3"
        )

    job = await workshop.start("sing")
    async with workshop.worker(app):
        assert (await workshop.ended(job))["status"] == "complete"
    primary, fallback = await workshop.artifacts_of(job)
    assert (primary["name"], primary["fallback_for"]) == ("song.mp3", None)
    assert (fallback["name"], fallback["fallback_for"]) == ("song.m4a", "song.mp3")
    assert Path(primary["storage_path"]).parent == Path(fallback["storage_path"]).parent


async def test_an_artifact_that_cannot_be_kept_fails_the_task_for_good(workshop: Workshop) -> None:
    app = App()

    @app.task("sing")
    def sing(context: Context) -> None:
        context.artifact("song.mp3", b"one", type="audio_mp3")
        context.artifact("song.mp3", b"two", type="audio_wav")

    job = await workshop.start("sing")
    async with workshop.worker(app):
        assert (await workshop.ended(job))["status"] == "failed"
    row = await workshop.task(job)
    assert row["error"].startswith("invalid_artifact:")
    assert row["attempts"] == 1


async def test_two_attempts_never_write_to_the_same_place(workshop: Workshop) -> None:
    app = App()

    @app.task("make")
    def make(context: Context) -> None:
        context.artifact("page.txt", f"attempt {context.attempt}", type="text")
        if context.attempt == 1:
            # Nothing is uploaded before the function has returned: this one falls over in the vault.
            context.artifact("../escape", b"", type="text")

    job = await workshop.start("make", backoff_s=0)
    async with workshop.worker(app):
        await workshop.ended(job)
    row = await workshop.task(job)
    assert row["status"] == "failed"
    assert row["error"].startswith("invalid_object_key:")
    assert await workshop.artifacts_of(job) == []


async def test_an_artifact_that_is_too_large_fails_the_task_for_good(workshop: Workshop) -> None:
    app = App()

    @app.task("make")
    def make(context: Context) -> None:
        context.artifact("large.bin", b"x" * 101, type="data")

    job = await workshop.start("make")
    async with workshop.worker(app, artifact_max_bytes=100):
        await workshop.ended(job)
    row = await workshop.task(job)
    assert row["error"].startswith("artifact_too_large:")
    assert row["attempts"] == 1
    assert [found for found in workshop.vault.rglob("*") if found.is_file()] == []
