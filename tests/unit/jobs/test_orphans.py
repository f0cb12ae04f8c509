"""What may be removed from the vault: never anything the ledger does not say is nobody's."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from shoal.app.artifact import Artifact
from shoal.jobs.orphans import (
    GRACE,
    Attempt,
    Known,
    KnownTask,
    Place,
    folder_of,
    is_orphan,
    place_of,
    token_start,
)
from shoal.vault.objects import Found
from shoal.worker.artifacts import storage_path

NOW = datetime(2030, 1, 1, tzinfo=UTC)
LONGEST_LEASE = timedelta(hours=1)

# Few of each, so that they meet.
IDS = st.sampled_from([UUID(int=number) for number in range(1, 4)])
TOKENS = st.sampled_from([UUID(int=number << 96) for number in range(1, 4)])
NAMES = st.sampled_from(["a.mp3", "chapter/1.pdf", "ü", "x.00000001"])
MOMENTS = st.sampled_from([NOW - 2 * GRACE, NOW - GRACE, NOW - GRACE + timedelta(seconds=1), NOW])


def named(user: UUID, job: UUID, task: UUID, token: UUID, name: str) -> str:
    """As our worker names an object."""
    claim: Any = SimpleNamespace(user_id=user, job_id=job, task_id=task, token=token)
    return storage_path(claim, Artifact(name, b"", "audio_mp3", "audio/mpeg", None))


OUR_KEYS = st.builds(named, IDS, IDS, IDS, TOKENS, NAMES)
PLAIN_KEYS = st.builds(lambda user, job, name: f"{user}/{job}/audio/{name}", IDS, IDS, NAMES)
FOREIGN_KEYS = st.one_of(
    st.text(min_size=1),
    NAMES,
    st.builds(lambda a, name: f"{a}/{name}", IDS, NAMES),
    st.builds(lambda a, b: f"{a}/{b}", IDS, IDS),
    OUR_KEYS.map(lambda key: f"backup/{key}"),
    OUR_KEYS.map(lambda key: key.replace("-", "")),
)
TASKS = st.builds(KnownTask, user=IDS, job=IDS, counts=st.none() | TOKENS.map(token_start))
KNOWN = st.builds(Known, deleted=st.dictionaries(IDS, IDS), tasks=st.dictionaries(IDS, TASKS))


def found(key: str, modified: datetime = NOW - 2 * GRACE) -> Found:
    return Found(key, 1, modified)


def test_the_grace_is_longer_than_any_lease() -> None:
    assert GRACE > LONGEST_LEASE


@given(IDS, IDS, IDS, TOKENS, NAMES)
def test_what_our_worker_writes_is_recognised(
    user: UUID, job: UUID, task: UUID, token: UUID, name: str
) -> None:
    key = named(user, job, task, token, name)
    assert place_of(key) == Place(user, job, Attempt(task, token_start(token)))
    assert key.startswith(folder_of(user, job) + "/")


@given(FOREIGN_KEYS, KNOWN, MOMENTS)
def test_what_lies_elsewhere_never_goes(key: str, known: Known, modified: datetime) -> None:
    assert not is_orphan(found(key, modified), known, now=NOW)


@given(OUR_KEYS | PLAIN_KEYS, MOMENTS)
def test_with_a_ledger_that_knows_nothing_nothing_goes(key: str, modified: datetime) -> None:
    """A wrong or a restored database, or a bucket that somebody else uses as well."""
    assert not is_orphan(found(key, modified), Known({}, {}), now=NOW)


@given(OUR_KEYS | PLAIN_KEYS, KNOWN, MOMENTS)
def test_the_files_of_a_deleted_job_go_at_once_and_no_others_for_it(
    key: str, known: Known, modified: datetime
) -> None:
    place = place_of(key)
    assert place is not None
    known = replace(known, deleted={place.job: place.user})
    assert is_orphan(found(key, modified), known, now=NOW)
    known = replace(known, deleted={place.job: UUID(int=99)})
    assert not is_orphan(found(key, modified), known, now=NOW)


@given(OUR_KEYS | PLAIN_KEYS, KNOWN, MOMENTS)
def test_of_a_living_job_only_what_an_attempt_made_that_does_not_count(
    key: str, known: Known, modified: datetime
) -> None:
    place = place_of(key)
    assert place is not None
    known = replace(known, deleted={})
    if is_orphan(found(key, modified), known, now=NOW):
        assert place.attempt is not None
        task = known.tasks[place.attempt.task]
        assert (task.user, task.job) == (place.user, place.job)
        assert task.counts != place.attempt.token
        assert modified <= NOW - GRACE


@given(IDS, IDS, IDS, TOKENS, TOKENS)
def test_a_lost_attempt_goes_and_the_one_that_counts_stays(
    user: UUID, job: UUID, task: UUID, lost: UUID, counts: UUID
) -> None:
    left = found(named(user, job, task, lost, "a.mp3"))
    known = Known({}, {task: KnownTask(user, job, token_start(counts))})
    assert is_orphan(left, known, now=NOW) == (lost != counts)
    none_counts = Known({}, {task: KnownTask(user, job, None)})
    assert is_orphan(left, none_counts, now=NOW)
