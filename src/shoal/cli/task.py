"""``shoal task``: single tasks, and what holds back types of them."""

import json
from typing import Annotated, Any
from uuid import UUID

import msgspec
import typer

from shoal.cli.client import open_client
from shoal.cli.options import Json, configured
from shoal.roles.config import Given
from shoal.wire.jobs import TaskView
from shoal.wire.types import TaskTypeView

app = typer.Typer(help="Tasks, and limits of their types.", no_args_is_help=True)

TaskId = Annotated[UUID, typer.Argument(metavar="TASK", help="The id of the task.")]
TaskType = Annotated[str, typer.Argument(metavar="TYPE", help="The type of the tasks.")]


@app.command()
@configured
def show(*, given: Given, task_id: TaskId, as_json: Json = False) -> None:
    """Show one task."""
    with open_client(given) as client:
        _print_task(client.read_task(task_id), as_json=as_json)


@app.command()
@configured
def cancel(
    *,
    given: Given,
    task_id: TaskId,
    reason: Annotated[str, typer.Option(help="Why, for whoever looks at it later.")] = "Cancelled.",
    as_json: Json = False,
) -> None:
    """End one task. What needs it follows its own rule for failures."""
    with open_client(given) as client:
        _print_task(client.cancel_task(task_id, reason), as_json=as_json)


@app.command()
@configured
def retry(*, given: Given, task_id: TaskId, as_json: Json = False) -> None:
    """Try one task again, and what did not run because of it."""
    with open_client(given) as client:
        _print_task(client.retry_task(task_id), as_json=as_json)


@app.command("list")
@configured
def list_types(*, given: Given, as_json: Json = False) -> None:
    """List the types of tasks of which something waits, runs or is held back."""
    with open_client(given) as client:
        found = client.list_task_types()
    if as_json:
        typer.echo(msgspec.json.encode(found).decode())
        return
    for one in found.types:
        typer.echo(_type_line(one))


@app.command()
@configured
def limit(
    *,
    given: Given,
    task_type: TaskType,
    running: Annotated[
        int | None, typer.Option(min=1, help="At most so many at a time.", show_default=False)
    ] = None,
    rate: Annotated[
        float | None, typer.Option(help="At most so many starts a second.", show_default=False)
    ] = None,
    burst: Annotated[int, typer.Option(min=1, help="With a rate: so many may start at once.")] = 1,
    as_json: Json = False,
) -> None:
    """Limit a type of task over all workers together. Without options, both limits end."""
    asked: dict[str, Any] = {"maxRunning": running, "ratePerS": rate, "burst": burst}
    with open_client(given) as client:
        _print_type(client.steer_task_type(task_type, "limit", asked), as_json=as_json)


@app.command()
@configured
def pause(
    *,
    given: Given,
    task_type: TaskType,
    reason: Annotated[str, typer.Option(help="Why, for whoever wonders later.")] = "Paused.",
    as_json: Json = False,
) -> None:
    """Start no more tasks of a type until it is resumed. What runs goes on."""
    with open_client(given) as client:
        _print_type(client.steer_task_type(task_type, "pause", {"reason": reason}), as_json=as_json)


@app.command()
@configured
def resume(*, given: Given, task_type: TaskType, as_json: Json = False) -> None:
    """Start tasks of a type again."""
    with open_client(given) as client:
        _print_type(client.steer_task_type(task_type, "resume", {}), as_json=as_json)


def _print_task(task: TaskView, *, as_json: bool) -> None:
    if as_json:
        typer.echo(msgspec.json.encode(task).decode())
        return
    typer.echo(f"task      {task.id}")
    typer.echo(f"job       {task.job_id}")
    typer.echo(f"name      {task.name} ({task.type})")
    typer.echo(f"status    {task.status} ({task.progress:.0%}), attempt {task.attempts}/{task.max_attempts}")
    if task.needs:
        typer.echo(f"needs     {', '.join(task.needs)}")
    for name, value in (("worker", task.worker), ("error", task.error), ("message", task.message)):
        if value:
            typer.echo(f"{name:9} {value}")


def _print_type(one: TaskTypeView, *, as_json: bool) -> None:
    typer.echo(json.dumps(msgspec.to_builtins(one)) if as_json else _type_line(one))


def _type_line(one: TaskTypeView) -> str:
    held = []
    if one.paused_because is not None:
        held.append(f"paused: {one.paused_because}")
    if one.max_running is not None:
        held.append(f"at most {one.max_running} at a time")
    if one.rate_per_s is not None:
        held.append(f"{one.rate_per_s:g} a second, {one.burst} at once")
    return f"{one.type:30} {one.ready:7} ready {one.running:7} running  {'; '.join(held)}".rstrip()
