"""Following a job: a bar on a terminal, a line for each change elsewhere."""

import time
from typing import TYPE_CHECKING, Any

import msgspec
from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from shoal.cli.client import Client
from shoal.runtime.errors import Unavailable
from shoal.wire.jobs import JobView, Progress
from shoal.wire.live import JobProgressed

if TYPE_CHECKING:
    from shoal.cli.job_messages import JobMessages

ENDED = {"complete", "failed", "cancelled"}
PATIENCE_S = 60.0
"""How long an API that does not answer is waited for."""


def watch_job(client: Client, job: JobView, *, quiet: bool) -> JobView:
    """Follow the job until it has ended; draws a bar unless told to be quiet."""
    from shoal.cli.job_messages import listening

    console = Console(stderr=True, quiet=quiet)
    with (
        listening(client, job.id) as messages,
        Bars(
            TextColumn("[bold]{task.fields[phase]:12}"),
            BarColumn(),
            TextColumn("{task.percentage:3.0f}%"),
            TextColumn("{task.fields[counts]:>9}"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[message]}"),
            console=console,
            transient=not console.is_terminal,
        ) as bars,
    ):
        bar = bars.add_task(job.type, total=100, **_bar_fields(job))
        follower = Follower(client, messages)
        said = ""
        while True:
            bars.update(bar, completed=job.progress.percent, **_bar_fields(job))
            said = _say(console, job, said)
            if job.status in ENDED:
                return job
            job = follower.next_state(job)


class Follower:
    """Takes what the beacon says, and looks where it says nothing. How a job ended is always looked up."""

    def __init__(self, client: Client, messages: "JobMessages") -> None:
        self._client = client
        self._messages = messages
        self._answered_at = time.monotonic()

    def next_state(self, job: JobView) -> JobView:
        message = self._messages.wait()
        if isinstance(message, JobProgressed):
            return with_progress(job, message)
        try:
            job = self._client.read_job(job.id)
            self._answered_at = time.monotonic()
        except Unavailable:
            if time.monotonic() - self._answered_at > PATIENCE_S:
                raise
        return job


def with_progress(job: JobView, said: JobProgressed) -> JobView:
    progress = Progress(
        percent=said.percent,
        phase=said.phase,
        docs_complete=said.completed,
        docs_total=said.total,
        message=said.message,
    )
    return msgspec.structs.replace(job, status=said.status, progress=progress)


def _bar_fields(job: JobView) -> dict[str, Any]:
    now = job.progress
    return {"phase": now.phase, "counts": f"{now.docs_complete}/{now.docs_total}", "message": now.message}


def _say(console: Console, job: JobView, said: str) -> str:
    """Where there is no terminal to draw on: a line whenever something has changed."""
    now = job.progress
    line = f"{now.percent:3}% {now.phase} {now.docs_complete}/{now.docs_total} {now.message}".rstrip()
    if not console.is_terminal and line != said:
        console.print(line, highlight=False)
    return line
