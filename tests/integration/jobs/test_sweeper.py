"""The vault holds what the ledger shows, and in the end nothing else of ours."""

import os
import time
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple
from uuid import UUID, uuid4

import pytest

from shoal.jobs.orphans import GRACE
from shoal.jobs.store import sql
from shoal.jobs.sweeper import Sweeper
from shoal.ledger.pool import Ledger
from shoal.vault.settings import VaultSettings
from shoal.vault.store import Vault, open_vault
from shoal.worker.held import Claim

from .ended import rows_left
from .ledger_client import OWNER, LedgerClient, graph, task

CLOCK = "SELECT clock_timestamp()"
SEEDS_INSERT = """
INSERT INTO job_artifacts (job_id, task_id, artifact_type, storage_path) VALUES ($1, $2, 'audio_mp3', $3)
"""
DELETED = "SELECT count(*) FROM shoal.deleted_jobs"
FOREIGN = [
    "notes.txt",
    f"{OWNER}/notes.txt",
    f"{uuid4()}/{uuid4()}/audio/x.mp3",
    f"sets/{uuid4()}/{uuid4()}/x",
]


class Room(NamedTuple):
    """A ledger, a vault in a folder, and the sweeper between them."""

    folder: Path
    vault: Vault
    sweeper: Sweeper
    ledger: Ledger

    async def put(self, key: str, *, old: bool = True) -> str:
        await self.vault.put(key, b"bytes", content_type="audio/mpeg")
        if old:
            moment = time.time() - GRACE.total_seconds() - 3600
            os.utime(self.folder / key, (moment, moment))
        return key

    async def keys(self) -> set[str]:
        return {found.key async for found in self.vault.list("")}

    async def sweep(self, *, later: timedelta = timedelta(0)) -> None:
        async with self.ledger.connection() as connection:
            now: datetime = await connection.fetchval(CLOCK)
        await self.sweeper.sweep(now + later)


@pytest.fixture
async def room(tmp_path: Path, ledger: Ledger, ann: LedgerClient) -> AsyncIterator[Room]:
    """Somebody else keeps things in the same vault; they are there at the end of every test."""
    folder = tmp_path / "vault"
    vault = open_vault(VaultSettings(vault_url=folder.as_uri()))
    room = Room(folder, vault, Sweeper(ledger, vault), ledger)
    for key in FOREIGN:
        await room.put(key)
    yield room
    assert await room.keys() >= set(FOREIGN)


def place(claim: Claim, name: str = "a.mp3") -> str:
    return f"{OWNER}/{claim.job_id}/audio/{claim.task_id}.{claim.token.hex[:8]}/{name}"


async def kept(room: Room, client: LedgerClient, claim: Claim, name: str = "a.mp3") -> str:
    """As a worker keeps an artifact: first the bytes, then the row."""
    key = await room.put(place(claim, name))
    assert await client.add_artifact(claim, key)
    return key


async def ours(room: Room) -> set[str]:
    return await room.keys() - set(FOREIGN)


async def delete(client: LedgerClient, job: UUID) -> None:
    row = await client.connection.fetchrow("SELECT * FROM shoal.delete_jobs($1)", [job])
    assert row is not None
    assert row["jobs"] == 1


async def test_the_files_of_a_deleted_job_go_and_all_others_stay(ann: LedgerClient, room: Room) -> None:
    jobs = [await ann.start(graph(task("a"))) for _ in range(2)]
    first, second = await ann.claim(2)
    gone = [await kept(room, ann, first), await room.put(place(first, "never-added.mp3"), old=False)]
    stays = await kept(room, ann, second)
    await ann.complete(first, second)

    await delete(ann, jobs[0].id)
    assert await ours(room) == {*gone, stays}
    await room.sweeper.work()

    assert await ours(room) == {stays}


async def test_what_a_lost_attempt_made_goes_with_its_rows(
    ann: LedgerClient, bob: LedgerClient, room: Room
) -> None:
    job = await ann.start(graph(task("a")))
    lost = await ann.claim_one()
    await kept(room, ann, lost)
    await room.put(place(lost, "crashed-before-the-row.mp3"))
    await ann.let_leases_run_out()
    await ann.reclaim()
    held = await bob.claim_one()
    good = {await kept(room, bob, held), await room.put(place(held, "row-to-come.mp3"))}
    before = await rows_left(ann, job.id)

    await room.sweep()
    assert await ours(room) == good
    assert await rows_left(ann, job.id) == before - 1
    await bob.complete(held)
    await room.sweep()

    assert await ours(room) == good


@pytest.mark.parametrize("end", ["failed", "cancelled", "released"])
async def test_what_an_attempt_made_that_did_not_complete_goes(
    ann: LedgerClient, room: Room, end: str
) -> None:
    job = await ann.start(graph(task("a")))
    held = await ann.claim_one()
    await kept(room, ann, held)
    await room.sweep()
    assert await ours(room) == {place(held)}
    if end == "failed":
        await ann.fail(held, permanent=True)
    elif end == "cancelled":
        await ann.cancel_job(job.id)
    else:
        await ann.release(held)

    await room.sweep()

    assert await ours(room) == set()


async def test_what_is_young_is_left_alone(ann: LedgerClient, room: Room) -> None:
    await ann.start(graph(task("a")))
    held = await ann.claim_one()
    young = await room.put(place(held), old=False)
    await ann.fail(held, permanent=True)
    await room.sweep()
    assert await ours(room) == {young}


async def test_the_files_of_a_client_written_from_the_seed_stay_as_long_as_its_job(
    ann: LedgerClient, room: Room
) -> None:
    """It names them without an attempt, and writes over those of the attempt before."""
    job = await ann.start(graph(task("a")))
    held = await ann.claim_one()
    path = await room.put(f"{OWNER}/{job.id}/audio/chapter1.mp3")
    await ann.connection.execute(SEEDS_INSERT, job.id, held.task_id, path)
    unnamed = await room.put(f"{OWNER}/{job.id}/audio/chapter2.mp3")
    await ann.complete(held)
    await room.sweep()
    assert await ours(room) == {path, unnamed}

    await delete(ann, job.id)
    await room.sweeper.work()

    assert await ours(room) == set()


async def test_a_path_outside_of_the_folder_of_its_job_is_never_removed(
    ann: LedgerClient, room: Room
) -> None:
    job = await ann.start(graph(task("a")))
    held = await ann.claim_one()
    for path in (*FOREIGN, "../escape", "/etc/passwd"):
        await ann.connection.execute(SEEDS_INSERT, job.id, held.task_id, path)
    await ann.complete(held)
    await delete(ann, job.id)
    await room.sweeper.work()
    await room.sweep()


async def test_what_an_artifact_of_another_job_shows_stays(ann: LedgerClient, room: Room) -> None:
    """Only a client of its own could do that, but nothing visible is ever without its file."""
    job = await ann.start(graph(task("a")))
    other = await ann.start(graph(task("b")))
    first, second = await ann.claim(2)
    shared = await kept(room, ann, first)
    await ann.connection.execute(SEEDS_INSERT, other.id, second.task_id, shared)
    await ann.complete(first, second)
    await delete(ann, job.id)
    await room.sweeper.work()
    assert await ours(room) == {shared}


async def test_a_crash_between_the_rows_and_the_files_leaves_nothing_behind(
    ann: LedgerClient, room: Room
) -> None:
    job = await ann.start(graph(task("a")))
    held = await ann.claim_one()
    key = await kept(room, ann, held)
    await ann.complete(held)
    await delete(ann, job.id)
    claimed = await sql.claim_folders.rows(ann.connection, at_most=10)
    assert [row["job_id"] for row in claimed] == [job.id]  # and whoever it was, died

    await room.sweeper.work()
    assert await ours(room) == set()  # the sweep found it all the same
    await room.put(key)
    await ann.connection.execute("UPDATE shoal.deleted_jobs SET empty_at = empty_at - interval '11 minutes'")
    await room.sweeper.work()

    assert await ours(room) == set()


async def test_an_upload_that_ends_after_its_job_was_deleted_is_found(ann: LedgerClient, room: Room) -> None:
    job = await ann.start(graph(task("a")))
    held = await ann.claim_one()
    await ann.cancel_job(job.id)
    await delete(ann, job.id)
    await room.sweeper.work()
    await room.put(place(held), old=False)

    await room.sweep()
    assert await ours(room) == set()
    await room.put(place(held, "later.mp3"), old=False)
    assert await ann.connection.fetchval(DELETED) == 1
    await room.sweep(later=GRACE + timedelta(minutes=1))

    assert await ours(room) == set()
    assert await ann.connection.fetchval(DELETED) == 0


async def test_a_deleted_job_is_not_forgotten_before_its_folder_is_empty(
    ann: LedgerClient, room: Room
) -> None:
    job = await ann.start(graph(task("a")))
    held = await ann.claim_one()
    await kept(room, ann, held)
    await ann.complete(held)
    await delete(ann, job.id)
    await room.sweep(later=2 * GRACE)
    assert await ann.connection.fetchval(DELETED) == 1


async def test_only_one_process_sweeps_at_a_time_and_not_all_the_time(ann: LedgerClient, room: Room) -> None:
    hour = timedelta(hours=1)
    assert await sql.take_turn.value(ann.connection, name="x", again_after=hour)
    assert await sql.take_turn.value(ann.connection, name="x", again_after=hour) is None
    await ann.connection.execute("UPDATE shoal.chores SET due_at = due_at - interval '2 hours'")
    assert await sql.take_turn.value(ann.connection, name="x", again_after=hour)


async def test_a_job_that_is_there_is_not_a_deleted_one(ann: LedgerClient, room: Room) -> None:
    """As after a restore of rows by hand."""
    job = await ann.start(graph(task("a")))
    held = await ann.claim_one()
    keys = {await kept(room, ann, held), await room.put(place(held, "row-to-come.mp3"))}
    await ann.connection.execute(
        "INSERT INTO shoal.deleted_jobs (job_id, user_id) VALUES ($1, $2)", job.id, OWNER
    )
    await room.sweeper.work()
    await room.sweep()
    assert await ours(room) == keys
    await ann.complete(held)
