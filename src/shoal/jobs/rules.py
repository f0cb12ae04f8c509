"""Pure decisions about jobs."""

from collections.abc import Sequence
from uuid import UUID

from shoal.jobs.model import Phase, RunningTask, Said
from shoal.runtime.errors import Invalid
from shoal.runtime.moments import in_utc
from shoal.vault.names import is_content_type, is_filename
from shoal.wire.jobs import NewJob, Progress
from shoal.wire.live import JobMessage, JobProgressed

SAY_AGAIN_S = 5.0
TIMES_AN_END_IS_SAID = 4


def live_progress(stored: Progress, phases: Sequence[Phase], running: Sequence[RunningTask]) -> Progress:
    """The stored progress, moved on by what running tasks have said since.

    The ledger counts whole tasks; a task that is half done adds half of its share. The message is that
    of the furthest running task that says something.
    """
    if stored.phase in {"queued", "complete"} or not running:
        return stored
    reached = started_at = 0.0
    for number, phase in enumerate(phases, start=1):
        width = phase.ends - started_at
        inside = sum(min(max(task.fraction, 0.0), 1.0) for task in running if task.phase == number)
        if phase.total > 0:
            reached += width * min(phase.done + inside, phase.total) / phase.total
        elif phase.ends <= _end_of_current(phases):
            reached += width
        started_at = phase.ends
    speaking = max((task for task in running if task.message), key=lambda task: task.fraction, default=None)
    return Progress(
        percent=max(stored.percent, min(int(reached), 99)),
        phase=stored.phase,
        docs_complete=stored.docs_complete,
        docs_total=stored.docs_total,
        message=speaking.message if speaking else stored.message,
    )


def counted(progress: Progress, running: Sequence[RunningTask]) -> tuple[int, int]:
    """How many of how many are done: chunks, where the current phase is one task of the fleet; else tasks."""
    if progress.docs_total == 1 and len(running) == 1 and running[0].chunks is not None:
        return round(running[0].fraction * running[0].chunks), running[0].chunks
    return progress.docs_complete, progress.docs_total


def _end_of_current(phases: Sequence[Phase]) -> float:
    """Where the first phase with open tasks ends; phases without tasks before it count as passed."""
    return next((phase.ends for phase in phases if phase.total > phase.done), 100.0)


def served_as(name: str, content_type: str) -> tuple[str | None, str]:
    """The file name and the content type with which an artifact is linked.

    Whoever may write rows of artifacts calls them as they like; a job must stay readable for that.
    """
    filename = name.rpartition("/")[2]
    return (
        filename if is_filename(filename) else None,
        content_type if is_content_type(content_type) else "application/octet-stream",
    )


def job_of_channel(name: str) -> UUID | None:
    """The job whose channel is ``jobs:<name>``. Only as we write it ourselves: two spellings would be two
    channels.
    """
    try:
        job_id = UUID(name)
    except ValueError:
        return None
    return job_id if str(job_id) == name else None


def is_worth_saying(message: JobMessage, said: Said | None, *, now: float) -> bool:
    """Whether listeners of a job are to be told its state: when it is another one, and now and then when it
    is not, for those who came or were cut off in between. An end is not repeated for ever.
    """
    if said is None or said.message != message:
        return True
    if now - said.at < SAY_AGAIN_S:
        return False
    return isinstance(message, JobProgressed) or said.times < TIMES_AN_END_IS_SAID


def as_written(job: NewJob, number: int) -> dict[str, object]:
    """A job of a batch in the form in which create_jobs takes it."""
    try:
        run_at = in_utc(job.run_at)
    except Invalid as error:
        raise Invalid(error.code, f"jobs[{number}]: {error.message}", hint=error.hint) from error
    return {
        "type": job.type,
        "params": job.params,
        "priority": job.priority,
        "unique_key": job.unique_key,
        "run_at": run_at,
    }
