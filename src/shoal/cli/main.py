"""The command ``shoal``: its nouns, and how errors reach people."""

import os
import sys
import traceback
from importlib.metadata import version
from typing import Annotated

import typer

from shoal.cli import (
    beacon,
    config,
    coordinator,
    database,
    discord,
    ended_jobs,
    events,
    job,
    job_artifacts,
    key,
    local,
    mesh,
    node,
    schedule,
    schedule_apply,
    schedule_preview,
    sentinel,
    task,
    worker,
)
from shoal.cli.exits import DEFECT, INTERRUPTED, exit_code_of
from shoal.runtime.errors import ShoalError

app = typer.Typer(
    name="shoal",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
local.add_to(app)
ended_jobs.add_to(job.app)
job_artifacts.add_to(job.app)
app.add_typer(job.app, name="job")
app.add_typer(task.app, name="task")
schedule_apply.add_to(schedule.app)
schedule_preview.add_to(schedule.app)
app.add_typer(schedule.app, name="schedule")
app.add_typer(worker.app, name="worker")
app.add_typer(mesh.app, name="mesh")
app.add_typer(node.app, name="node")
app.command("sentinel")(sentinel.sentinel)
app.add_typer(events.app, name="events")
app.command("coordinator")(coordinator.coordinator)
app.add_typer(key.app, name="key")
app.add_typer(database.app, name="db")
app.add_typer(beacon.app, name="beacon")
app.add_typer(discord.app, name="discord")
app.add_typer(config.app, name="config")


def _tell_version(asked: bool) -> None:
    if asked:
        typer.echo(f"shoal {version('shoal')}")
        raise typer.Exit


@app.callback()
def shoal(
    _: Annotated[
        bool,
        typer.Option("--version", callback=_tell_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """One dependable workforce out of machines you own, rent, or borrow from strangers."""


def main() -> None:
    try:
        app()
    except ShoalError as error:
        _complain(f"error: {error.message}", error.hint, f"({error.code})")
        sys.exit(exit_code_of(error))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()  # whoever read our output has gone; there is nobody left to tell
        sys.exit(INTERRUPTED)
    except Exception as error:  # noqa: BLE001 - a person gets a sentence, not a traceback
        if os.environ.get("SHOAL_LOG_LEVEL") == "debug":
            traceback.print_exc()
        _complain(
            f"error: unexpected {type(error).__name__}: {error}",
            "This is a defect. Set SHOAL_LOG_LEVEL=debug to see where, and please report it.",
            "(internal_error)",
        )
        sys.exit(DEFECT)


def _complain(*lines: str) -> None:
    for line in lines:
        if line:
            typer.echo(line, err=True)
