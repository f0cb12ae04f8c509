"""``shoal schedule``: what happens again and again."""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import msgspec
import typer

from shoal.cli.client import Client, open_client
from shoal.cli.options import Json, configured
from shoal.cli.schedule_lines import print_schedule, schedule_line
from shoal.cli.schedule_options import (
    Cron,
    End,
    Every,
    Start,
    Zone,
    frequency,
    named_schedule,
    read_object,
)
from shoal.roles.config import Given
from shoal.runtime.errors import Invalid
from shoal.wire.schedules import MissedPolicy, OverlapPolicy, RunPage, ScheduleStatus

app = typer.Typer(help="Schedules: jobs and events that happen again and again.", no_args_is_help=True)

Which = Annotated[str, typer.Argument(metavar="SCHEDULE", help="Its name or its id.")]


@app.command()
@configured
def add(
    *,
    given: Given,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What to call it.")],
    every: Every = None,
    cron: Cron = None,
    zone: Zone = "UTC",
    start: Start = None,
    end: End = None,
    job: Annotated[
        str | None, typer.Option(metavar="TYPE", help="The type of job it starts.", show_default=False)
    ] = None,
    params: Annotated[
        str | None,
        typer.Option(help="Its parameters: a JSON object, or @file.", show_default=False),
    ] = None,
    priority: Annotated[int, typer.Option(min=-100, max=100, help="The priority of the job.")] = 0,
    overlap: Annotated[
        OverlapPolicy, typer.Option(help="What a run does whose predecessor's job is still alive.")
    ] = "allow",
    event: Annotated[
        str | None,
        typer.Option(metavar="TYPE", help="An event it emits: user.tick, say.", show_default=False),
    ] = None,
    topic: Annotated[str, typer.Option(help="The topic of the event.")] = "user",
    data: Annotated[
        str | None, typer.Option(help="The data of the event: a JSON object, or @file.", show_default=False)
    ] = None,
    max_runs: Annotated[
        int | None, typer.Option(min=1, help="It ends after so many runs.", show_default=False)
    ] = None,
    jitter: Annotated[float, typer.Option(min=0, help="Run up to so many seconds later.")] = 0.0,
    missed: Annotated[
        MissedPolicy, typer.Option(help="What runs of what nobody could start in time.")
    ] = "last",
    missed_limit: Annotated[int, typer.Option(min=1, max=1000, help="With --missed all: the most.")] = 100,
    missed_window: Annotated[
        float | None, typer.Option(help="What is older than so many seconds never runs.", show_default=False)
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="One of its name becomes this one.")] = False,
    user: Annotated[
        str | None, typer.Option(help="For whom, when the token is a service's key.", show_default=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """Add a schedule that starts a job, or emits an event."""
    asked: dict[str, Any] = {
        "name": name,
        **frequency(every, cron),
        "zone": zone,
        "startAt": start,
        "endAt": end,
        "job": job and {"type": job, "params": read_object(params, "params"), "priority": priority},
        "event": event and {"type": event, "topic": topic, "data": read_object(data, "data")},
        "overlap": overlap,
        "maxRuns": max_runs,
        "jitterS": jitter,
        "missedRuns": missed,
        "missedLimit": missed_limit,
        "missedWindowS": missed_window,
        "onConflict": "replace" if replace else "reject",
        "userId": user,
    }
    with open_client(given) as client:
        added = client.add_schedule({name: value for name, value in asked.items() if value is not None})
    print_schedule(added, as_json=as_json)


@app.command("list")
@configured
def list_schedules(
    *,
    given: Given,
    status: Annotated[ScheduleStatus | None, typer.Option(help="Only those in this state.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="Where the page before ended.")] = None,
    as_json: Json = False,
) -> None:
    """List your schedules by name, with their next run."""
    with open_client(given) as client:
        page = client.list_schedules({"status": status, "limit": limit, "cursor": cursor})
    if as_json:
        typer.echo(msgspec.json.encode(page).decode())
        return
    for one in page.schedules:
        typer.echo(schedule_line(one))
    if page.next:
        typer.echo(f"more: --cursor {page.next}")


@app.command()
@configured
def show(*, given: Given, schedule: Which, as_json: Json = False) -> None:
    """Show a schedule with its next runs."""
    with open_client(given) as client:
        found = named_schedule(client, schedule)
        coming = client.list_upcoming(found.id, 5).occurrences if found.status == "active" else []
    print_schedule(found, as_json=as_json, coming=coming)


@app.command()
@configured
def pause(
    *,
    given: Given,
    schedule: Which,
    reason: Annotated[str, typer.Option(help="Why, for whoever wonders later.")] = "Paused.",
    as_json: Json = False,
) -> None:
    """Run it no more until it is resumed."""
    with open_client(given) as client:
        found = named_schedule(client, schedule)
        print_schedule(client.steer_schedule(found.id, "pause", {"reason": reason}), as_json=as_json)


@app.command()
@configured
def resume(*, given: Given, schedule: Which, as_json: Json = False) -> None:
    """Run it again, from its next time on; also one that was parked with an error."""
    with open_client(given) as client:
        found = named_schedule(client, schedule)
        print_schedule(client.steer_schedule(found.id, "resume", {}), as_json=as_json)


@app.command()
@configured
def run(
    *,
    given: Given,
    schedule: Which,
    at: Annotated[
        str | None, typer.Option(help="As if it were this moment; it runs once for it.", show_default=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """Run it once more, now. Its own times stay as they are."""
    with open_client(given) as client:
        _run(client, schedule, "run", {"at": at} if at else {}, as_json=as_json)


@app.command()
@configured
def backfill(
    *,
    given: Given,
    schedule: Which,
    first: Annotated[str, typer.Option("--from", help="From this moment, as in 2026-01-01T00:00:00Z.")],
    last: Annotated[str | None, typer.Option("--to", help="To this moment; now.", show_default=False)] = None,
    as_json: Json = False,
) -> None:
    """Run every occurrence of a stretch of time. Each runs once, however often this is repeated."""
    with open_client(given) as client:
        until = last or datetime.now(UTC).isoformat()
        _run(client, schedule, "backfill", {"first": first, "last": until}, as_json=as_json)


@app.command()
@configured
def delete(
    *,
    given: Given,
    schedule: Which,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: Json = False,
) -> None:
    """Delete a schedule with the list of its runs. The jobs it has started go on."""
    if as_json and not yes:
        raise Invalid("not_confirmed", "With --json nobody is asked.", hint="Add --yes.")
    with open_client(given) as client:
        found = named_schedule(client, schedule)
        if not yes:
            typer.confirm(f"Delete the schedule {found.name}?", abort=True)
        client.delete_schedule(found.id)
    typer.echo(msgspec.json.encode({"id": found.id}).decode() if as_json else f"deleted {found.name}")


@app.command()
@configured
def history(
    *,
    given: Given,
    schedule: Which,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many.")] = 20,
    cursor: Annotated[str | None, typer.Option(help="Where the page before ended.")] = None,
    as_json: Json = False,
) -> None:
    """List its runs, latest first, with what became of their jobs."""
    with open_client(given) as client:
        page = client.list_runs(named_schedule(client, schedule).id, {"limit": limit, "cursor": cursor})
    if as_json:
        typer.echo(msgspec.json.encode(page).decode())
        return
    _print_runs(page)


def _run(
    client: Client, schedule: str, verb: Literal["run", "backfill"], body: dict[str, Any], *, as_json: bool
) -> None:
    ran = client.run_schedule(named_schedule(client, schedule).id, verb, body)
    typer.echo(msgspec.json.encode(ran).decode() if as_json else f"{ran.runs} new runs")


def _print_runs(page: RunPage) -> None:
    for one in page.runs:
        became: str = one.outcome or ""
        if one.job_id is not None:
            became = f"{became} {one.job_id}"
        late = (one.fired_at - one.fire_at).total_seconds()
        typer.echo(f"{one.fire_at:%Y-%m-%d %H:%M:%S}  {one.kind:9}  {late:+10.3f} s  {became}".rstrip())
        if one.error:
            typer.echo(f"{'':21}{one.error.splitlines()[0]}")
    if page.next:
        typer.echo(f"more: --cursor {page.next}")
