"""How schedules look on a terminal."""

import json
from collections.abc import Sequence
from datetime import datetime

import msgspec
import typer

from shoal.wire.schedules import ScheduleView


def print_schedule(one: ScheduleView, *, as_json: bool, coming: Sequence[datetime] = ()) -> None:
    if as_json:
        shown = msgspec.to_builtins(one)
        if coming:
            shown["upcoming"] = [moment.isoformat() for moment in coming]
        typer.echo(json.dumps(shown))
        return
    typer.echo(f"schedule  {one.id}")
    typer.echo(f"name      {one.name}")
    typer.echo(f"status    {one.status}{_why(one)}")
    typer.echo(f"when      {when(one)} on the clock of {one.zone}")
    typer.echo(f"does      {what(one)}")
    typer.echo(f"runs      {one.runs}{'' if one.max_runs is None else f' of {one.max_runs}'}")
    for moment in coming or ([one.next_run_at] if one.next_run_at else []):
        typer.echo(f"next      {moment.isoformat(sep=' ')}")


def schedule_line(one: ScheduleView) -> str:
    following = f"{one.next_run_at:%Y-%m-%d %H:%M:%SZ}" if one.next_run_at else one.status
    return f"{one.name:30} {when(one):20} {one.zone:20} {following:20} {what(one)}"


def when(one: ScheduleView) -> str:
    if one.cron is not None:
        return one.cron
    return f"every {one.frequency_time} {(one.frequency_unit or '').lower()}"


def what(one: ScheduleView) -> str:
    if one.job is not None:
        return f"starts {one.job.type}"
    return f"emits {one.event.type}" if one.event is not None else "nothing that can be read"


def _why(one: ScheduleView) -> str:
    why = one.error or one.pause_reason
    return f": {why}" if why else ""
