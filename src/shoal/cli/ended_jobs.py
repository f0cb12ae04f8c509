"""``shoal job dead`` and ``shoal job purge``: what failed for good, and deleting jobs that have ended."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

import msgspec
import typer
from rich.filesize import decimal

from shoal.cli.client import open_client
from shoal.cli.options import Json, configured
from shoal.roles.config import Given
from shoal.runtime.errors import Invalid
from shoal.wire.ended_jobs import EndedStatus, Purged, Reason


@configured
def dead(
    *,
    given: Given,
    job_type: Annotated[str | None, typer.Option("--type", help="Only in jobs of this type.")] = None,
    task_type: Annotated[str | None, typer.Option(help="Only tasks of this type.")] = None,
    reason: Annotated[Reason | None, typer.Option(help="Only those that ended like this.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=200, help="How many.")] = 20,
    cursor: Annotated[str | None, typer.Option(help="Where the page before ended.")] = None,
    as_json: Json = False,
) -> None:
    """List the tasks that failed for good, latest first. 'shoal job retry JOB' tries them again."""
    filters = {"type": job_type, "taskType": task_type, "reason": reason, "limit": limit, "cursor": cursor}
    with open_client(given) as client:
        page = client.list_dead_letters(filters)
    if as_json:
        typer.echo(msgspec.json.encode(page).decode())
        return
    for one in page.tasks:
        typer.echo(
            f"{one.job_id}  {one.task_name:20} {one.attempts}/{one.max_attempts} {one.reason:16} "
            f"{one.failed_at:%Y-%m-%d %H:%M:%S}"
        )
        if one.error:
            typer.echo(f"{'':36}  {one.error.splitlines()[0]}")
    if page.next:
        typer.echo(f"more: --cursor {page.next}")


@configured
def purge(
    *,
    given: Given,
    status: Annotated[EndedStatus | None, typer.Option(help="Only jobs in this state.")] = None,
    job_type: Annotated[str | None, typer.Option("--type", help="Only jobs of this type.")] = None,
    older_than: Annotated[
        float, typer.Option(min=0, max=36500, metavar="DAYS", help="Only jobs that ended so long ago.")
    ] = 0,
    user: Annotated[
        UUID | None, typer.Option(help="Whose, when the token is a service's key.", show_default=False)
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say how much would go.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: Json = False,
) -> None:
    """Delete jobs that have ended, with everything they made. There is no way back."""
    if as_json and not (dry_run or yes):
        raise Invalid("not_confirmed", "With --json nobody is asked.", hint="Add --yes, or --dry-run.")
    request: dict[str, Any] = {
        "statuses": status and [status],
        "type": job_type,
        # Also without an age: what ends while this runs was not counted.
        "finishedBefore": (datetime.now(UTC) - timedelta(days=older_than)).isoformat(),
        "userId": user and str(user),
    }
    with open_client(given) as client:
        gone = found = client.purge_jobs({**request, "dryRun": True})
        if found.jobs and not dry_run:
            if not yes:
                typer.confirm(f"Delete {_said(found)}?", abort=True)
            gone = Purged(0, 0, 0, more=True)
            while gone.more:
                batch = client.purge_jobs(request)
                gone = Purged(
                    gone.jobs + batch.jobs,
                    gone.artifacts + batch.artifacts,
                    gone.bytes + batch.bytes,
                    batch.more,
                )
    if as_json:
        typer.echo(msgspec.json.encode(gone).decode())
    else:
        typer.echo(f"{'would delete' if dry_run else 'deleted'} {_said(gone)}")


def _said(found: Purged) -> str:
    return f"{found.jobs} jobs with {found.artifacts} artifacts of {decimal(found.bytes)}"


def add_to(app: typer.Typer) -> None:
    for command in (dead, purge):
        app.command(command.__name__)(command)
