"""When listeners of a job are told its state."""

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from shoal.jobs.model import Said
from shoal.jobs.rules import SAY_AGAIN_S, TIMES_AN_END_IS_SAID, is_worth_saying, job_of_channel
from shoal.wire.live import JobCancelled, JobCompleted, JobFailed, JobMessage, JobProgressed


@given(job=st.uuids(), name=st.text(max_size=50))
def test_a_job_has_one_channel_and_no_second_spelling_of_it(job: UUID, name: str) -> None:
    assert job_of_channel(str(job)) == job
    for spelling in (job.hex, job.urn, f"{{{job}}}", f" {job}", name):
        assert job_of_channel(spelling) is None or str(job_of_channel(spelling)) == spelling


def at_percent(percent: int) -> JobMessage:
    return JobProgressed(
        status="processing", percent=percent, phase="drawing", message="", completed=percent, total=100
    )


ENDS = st.sampled_from([JobCompleted(result={"a": 1}), JobFailed(error="e"), JobCancelled(error=None)])
STATES = st.one_of(st.integers(0, 100).map(at_percent), ENDS)


@given(state=STATES, other=STATES, waited=st.floats(0, 100), times=st.integers(1, 100))
def test_whatever_is_new_is_said_at_once(
    state: JobMessage, other: JobMessage, waited: float, times: int
) -> None:
    assert is_worth_saying(state, None, now=waited)
    if other != state:
        assert is_worth_saying(state, Said(other, at=0.0, times=times), now=waited)


@given(state=STATES, waited=st.floats(0, SAY_AGAIN_S, exclude_max=True), times=st.integers(1, 100))
def test_what_was_just_said_is_not_said_again(state: JobMessage, waited: float, times: int) -> None:
    assert not is_worth_saying(state, Said(state, at=0.0, times=times), now=waited)


@given(percent=st.integers(0, 100), times=st.integers(1, 10_000))
def test_a_state_that_lasts_is_repeated_as_long_as_it_lasts(percent: int, times: int) -> None:
    said = Said(at_percent(percent), at=0.0, times=times)
    assert is_worth_saying(at_percent(percent), said, now=SAY_AGAIN_S)


@given(end=ENDS)
def test_an_end_is_repeated_a_few_times(end: JobMessage) -> None:
    said, now, times = None, 0.0, 0
    for _ in range(100):
        if is_worth_saying(end, said, now=now):
            times += 1
            said = Said(end, at=now, times=times)
        now += SAY_AGAIN_S
    assert times == TIMES_AN_END_IS_SAID
