"""Following a job: a bar on a terminal, a line for each change elsewhere."""

import time
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from shoal.cli.client import Client
from shoal.wire.jobs import JobView

ENDED = {"complete", "failed", "cancelled"}
LOOK_EVERY_S = 0.25


def watch_job(client: Client, job: JobView, *, quiet: bool) -> JobView:
    """Look again and again until the job has ended; draws a bar unless told to be quiet."""
    console = Console(stderr=True, quiet=quiet)
    with Progress(
        TextColumn("[bold]{task.fields[phase]:12}"),
        BarColumn(),
        TextColumn("{task.percentage:3.0f}%"),
        TextColumn("{task.fields[counts]:>9}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[message]}"),
        console=console,
        transient=not console.is_terminal,
    ) as bars:
        bar = bars.add_task(job.type, total=100, **_bar_fields(job))
        said = ""
        while True:
            bars.update(bar, completed=job.progress.percent, **_bar_fields(job))
            said = _say(console, job, said)
            if job.status in ENDED:
                return job
            time.sleep(LOOK_EVERY_S)
            job = client.read_job(job.id)


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
