"""``shoal job``: start jobs, watch them, keep what they made."""

import json
import time
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
import typer

from shoal.cli.client import Client, open_client
from shoal.cli.exits import BAD_NEWS
from shoal.cli.job_artifacts import all_artifacts, keep, line_of
from shoal.cli.job_batch import read_batch
from shoal.cli.job_progress import ENDED, watch_job
from shoal.cli.options import Json, configured
from shoal.roles.config import Given
from shoal.runtime.errors import Invalid
from shoal.wire.jobs import JobView, LogLineView, Status, TaskPage, TaskView
from shoal.wire.types import JobTypePage

app = typer.Typer(help="Jobs: graphs of tasks.", no_args_is_help=True)

LOOK_EVERY_S = 0.25

JobId = Annotated[UUID, typer.Argument(metavar="JOB", help="The id of the job.")]
Save = Annotated[Path | None, typer.Option(help="Keep the artifacts in this folder.", show_default=False)]


@app.command()
@configured
def start(
    *,
    given: Given,
    job_type: Annotated[
        str | None, typer.Argument(metavar="[TYPE]", help="The type of the job.", show_default=False)
    ] = None,
    params: Annotated[
        str | None,
        typer.Option(help="Its parameters, as a JSON object; @file reads one.", show_default=False),
    ] = None,
    priority: Annotated[
        int | None, typer.Option(min=-100, max=100, help="Higher goes first; 0 is usual.", show_default=False)
    ] = None,
    unique_key: Annotated[
        str | None, typer.Option(help="At most one living job has this key.", show_default=False)
    ] = None,
    on_conflict: Annotated[
        Literal["reject", "existing"], typer.Option(help="What a second job with the key gets.")
    ] = "reject",
    run_at: Annotated[
        str | None, typer.Option(help="Not before, as in 2030-01-31T09:00:00Z.", show_default=False)
    ] = None,
    user: Annotated[
        UUID | None, typer.Option(help="For whom, when the token is a service's key.", show_default=False)
    ] = None,
    idempotency_key: Annotated[
        str | None, typer.Option(help="Repeated with it, the command starts no second job.")
    ] = None,
    batch: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Start many: one job per line, in JSON; - reads standard input.",
            show_default=False,
        ),
    ] = None,
    watch_it: Annotated[bool, typer.Option("--watch", help="Show its progress until it ends.")] = False,
    save: Save = None,
    as_json: Json = False,
) -> None:
    """Start a job, or many. Exits 1 when it is watched and does not complete.

    A line of a batch is {"type": …, "params": …, "priority": …, "uniqueKey": …, "runAt": …}; TYPE is for
    lines without a type. All of the jobs are started, or none.
    """
    of_all = {"onConflict": on_conflict, "userId": user and str(user)}
    of_one = {
        "params": None if params is None else _read_params(params),
        "priority": priority,
        "uniqueKey": unique_key,
        "runAt": run_at,
    }
    asked = {name: value for name, value in of_one.items() if value is not None}
    if batch is not None:
        if asked or watch_it or save is not None:
            raise typer.BadParameter(
                "--batch goes with TYPE, --on-conflict, --user and --idempotency-key only"
            )
        request = {"jobs": read_batch(batch, job_type), **of_all}
        with open_client(given) as client:
            started = client.start_jobs(request, idempotency_key)
        typer.echo(msgspec.json.encode(started).decode() if as_json else "\n".join(map(str, started.ids)))
        return
    if job_type is None:
        raise typer.BadParameter("name the TYPE of the job, or a file with --batch")
    with open_client(given) as client:
        job = client.start_job({"type": job_type, **asked, **of_all}, idempotency_key)
        if watch_it or save is not None:
            job = watch_job(client, job, quiet=as_json)
            _finish(client, job, save, as_json=as_json)
        elif as_json:
            typer.echo(msgspec.json.encode(job).decode())
        else:
            typer.echo(str(job.id))


@app.command()
@configured
def show(*, given: Given, job_id: JobId, as_json: Json = False) -> None:
    """Show a job with its progress, result and artifacts."""
    with open_client(given) as client:
        job = client.read_job(job_id)
    _print(job, as_json=as_json)


@app.command()
@configured
def watch(*, given: Given, job_id: JobId, save: Save = None, as_json: Json = False) -> None:
    """Follow a job until it ends. Exits 1 when it does not complete."""
    with open_client(given) as client:
        job = watch_job(client, client.read_job(job_id), quiet=as_json)
        _finish(client, job, save, as_json=as_json)


@app.command("list")
@configured
def list_jobs(
    *,
    given: Given,
    status: Annotated[Status | None, typer.Option(help="Only jobs in this state.")] = None,
    job_type: Annotated[str | None, typer.Option("--type", help="Only jobs of this type.")] = None,
    unique_key: Annotated[
        str | None, typer.Option(help="Only jobs with this key.", show_default=False)
    ] = None,
    created_from: Annotated[
        str | None, typer.Option(help="Not older, as in 2030-01-31T09:00:00Z.", show_default=False)
    ] = None,
    created_before: Annotated[
        str | None, typer.Option(help="Older than that moment.", show_default=False)
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many.")] = 20,
    cursor: Annotated[str | None, typer.Option(help="Where the page before ended.")] = None,
    as_json: Json = False,
) -> None:
    """List your jobs, newest first."""
    filters: dict[str, Any] = {
        "status": status,
        "type": job_type,
        "uniqueKey": unique_key,
        "createdFrom": created_from,
        "createdBefore": created_before,
        "limit": limit,
        "cursor": cursor,
    }
    with open_client(given) as client:
        page = client.list_jobs(filters)
    if as_json:
        typer.echo(msgspec.json.encode(page).decode())
        return
    for job in page.jobs:
        typer.echo(
            f"{job.id}  {job.type:20} {job.status:10} {job.progress.percent:3}%  "
            f"{job.created_at:%Y-%m-%d %H:%M:%S}"
        )
    if page.next:
        typer.echo(f"more: --cursor {page.next}")


@app.command()
@configured
def cancel(
    *,
    given: Given,
    job_id: JobId,
    reason: Annotated[str, typer.Option(help="Why, for whoever looks at it later.")] = "Cancelled.",
    as_json: Json = False,
) -> None:
    """End a job and everything of it that has not ended."""
    with open_client(given) as client:
        _print(client.cancel_job(job_id, reason), as_json=as_json)


@app.command()
@configured
def retry(*, given: Given, job_id: JobId, as_json: Json = False) -> None:
    """Try everything again that failed or was cancelled."""
    with open_client(given) as client:
        _print(client.retry_job(job_id), as_json=as_json)


@app.command()
@configured
def tasks(*, given: Given, job_id: JobId, as_json: Json = False) -> None:
    """List the tasks of a job, in order, with what they need."""
    with open_client(given) as client:
        found: list[TaskView] = []
        cursor: str | None = None
        while True:
            page = client.list_tasks(job_id, cursor)
            found += page.tasks
            cursor = page.next
            if cursor is None:
                break
    if as_json:
        typer.echo(msgspec.json.encode(TaskPage(found, next=None)).decode())
        return
    for task in found:
        needs = f"  needs {', '.join(task.needs)}" if task.needs else ""
        typer.echo(f"{task.name:30} {task.status:10} {task.attempts}/{task.max_attempts}{needs}")
        if task.error:
            typer.echo(f"{'':30} {task.error.splitlines()[0]}")


@app.command("types")
@configured
def list_types(*, given: Given, as_json: Json = False) -> None:
    """List the types of jobs that workers have registered."""
    with open_client(given) as client:
        page = client.list_job_types(None)
        found = page.types
        while page.next:
            page = client.list_job_types(page.next)
            found += page.types
    if as_json:
        typer.echo(msgspec.json.encode(JobTypePage(found, next=None)).decode())
        return
    for one in found:
        phases = ", ".join(phase.name for phase in one.phases)
        typer.echo(f"{one.type:30} version {one.version:10} {phases}".rstrip())


@app.command()
@configured
def logs(
    *,
    given: Given,
    job_id: JobId,
    follow: Annotated[bool, typer.Option("--follow", help="Go on until the job has ended.")] = False,
    as_json: Json = False,
) -> None:
    """Print what the tasks of a job wrote."""
    with open_client(given) as client:
        cursor: str | None = None
        while True:
            # Asked before the lines: what was written by the end is then among them.
            ended = client.read_job(job_id).status in ENDED
            page = client.list_logs(job_id, cursor)
            for line in page.lines:
                typer.echo(msgspec.json.encode(line).decode() if as_json else _log_line(line))
            cursor = page.next
            if not page.lines:
                if ended or not follow:
                    return
                time.sleep(LOOK_EVERY_S)


def _log_line(line: LogLineView) -> str:
    return f"{line.at:%H:%M:%S.%f} {line.level:7} {str(line.task_id)[-8:]}  {line.line}"


def _read_params(text: str) -> dict[str, Any]:
    try:
        if text.startswith("@"):
            text = Path(text[1:]).read_text(encoding="utf-8")
        return msgspec.json.decode(text, type=dict[str, Any])
    except (OSError, msgspec.DecodeError) as error:
        raise Invalid(
            "invalid_params",
            f"The parameters are not a JSON object: {error}.",
            hint="""Write them as in --params '{"name": "Ada"}', or --params @file.json.""",
        ) from error


def _finish(client: Client, job: JobView, save: Path | None, *, as_json: bool) -> None:
    kept: dict[str, str] = {}
    if save is not None:
        found = all_artifacts(client, job)
        kept = keep(client, job.id, found, save)
        job = msgspec.structs.replace(job, artifacts=found, artifacts_next=None)
    _print(job, as_json=as_json, kept=kept)
    if job.status != "complete":
        raise typer.Exit(BAD_NEWS)


def _print(job: JobView, *, as_json: bool, kept: dict[str, str] | None = None) -> None:
    if as_json:
        shown = msgspec.to_builtins(job)
        if kept:
            shown["kept"] = kept
        typer.echo(json.dumps(shown))
        return
    typer.echo(f"job       {job.id}")
    typer.echo(f"type      {job.type}")
    typer.echo(f"status    {job.status} ({job.progress.percent}%)")
    if job.error:
        typer.echo(f"error     {job.error}")
    if job.result is not None:
        typer.echo(f"result    {json.dumps(job.result, ensure_ascii=False)}")
    for artifact in job.artifacts:
        typer.echo(line_of(artifact, kept or {}))
    if job.artifacts_next:
        typer.echo(f"more: shoal job artifacts {job.id}")
