"""``shoal worker``: processes that run tasks."""

import os
import sys
from typing import Annotated

import typer

from shoal.cli.options import configured
from shoal.roles.config import Given, read_attached_config

app = typer.Typer(help="Processes that run tasks.", no_args_is_help=True)

Apps = Annotated[
    list[str], typer.Argument(metavar="MODULE:APP...", help="The apps to run, as in examples.hello:app.")
]
Types = Annotated[
    str | None,
    typer.Option(
        metavar="TYPE,TYPE", help="Claim tasks of these types alone; to plan jobs of a type is plan:TYPE."
    ),
]
Concurrency = Annotated[
    int | None, typer.Option(min=1, help="Tasks one process runs at a time.", show_default=False)
]


@app.command()
@configured
def run(
    *,
    given: Given,
    apps: Apps,
    types: Types = None,
    concurrency: Concurrency = None,
    processes: Annotated[
        int, typer.Option(min=1, help="Worker processes, for tasks that keep a processor busy.")
    ] = 1,
    until_stdin_closes: Annotated[bool, typer.Option("--until-stdin-closes", hidden=True)] = False,
) -> None:
    """Claim and run tasks of one or more apps until told to stop."""
    from shoal.cli.run import run_role
    from shoal.roles.worker import run_worker
    from shoal.roles.worker_apps import load_apps
    from shoal.roles.worker_crew import run_workers
    from shoal.worker.settings import WorkerSettings

    given = given.with_flags(worker_types=types, worker_concurrency=concurrency)
    settings = read_attached_config(given)
    joined = load_apps(apps, settings[WorkerSettings].worker_types)
    run_role(
        run_workers(given, settings, apps, processes=processes, on_ready=say_ready)
        if processes > 1
        else run_worker(
            settings,
            joined,
            on_ready=say_ready_and_no_more if until_stdin_closes else say_ready,
            with_stdin=until_stdin_closes,
        ),
        settings=settings,
        name="worker",
    )


@app.command()
@configured
def scale(
    *,
    given: Given,
    apps: Apps,
    types: Types = None,
    concurrency: Concurrency = None,
    least: Annotated[
        int | None, typer.Option("--min", min=0, help="Processes to keep when nothing is to be done.")
    ] = None,
    most: Annotated[int | None, typer.Option("--max", min=1, help="Processes to keep at most.")] = None,
    tasks_per_worker: Annotated[
        int | None, typer.Option(min=1, help="Tasks, ready or running, that are worth one process.")
    ] = None,
    cool_down: Annotated[
        float | None,
        typer.Option(
            min=0, metavar="SECONDS", help="How long fewer must be enough before a process is ended."
        ),
    ] = None,
    scaler: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:NAME",
            help="Scale workers elsewhere, with a scaler of your own.",
        ),
    ] = None,
) -> None:
    """Keep as many worker processes as the queue asks for, on this machine if nothing else is said."""
    from shoal.cli.run import run_role
    from shoal.roles.worker_apps import load_apps
    from shoal.roles.worker_crew import load_scaler, local_workers, run_scale
    from shoal.worker.settings import WorkerSettings

    given = given.with_flags(
        worker_types=types,
        worker_concurrency=concurrency,
        scale_min=least,
        scale_max=most,
        scale_tasks_per_worker=tasks_per_worker,
        scale_cool_down_s=cool_down,
    )
    settings = read_attached_config(given)
    joined = load_apps(apps, settings[WorkerSettings].worker_types)
    chosen = load_scaler(scaler) if scaler else local_workers(given, settings, apps)
    run_role(
        run_scale(settings, chosen, app=joined, on_ready=say_ready),
        settings=settings,
        name="worker scale",
    )


def say_ready() -> None:
    typer.echo("ready")


def say_ready_and_no_more() -> None:
    """Nobody reads on: a pipe that is full would hold up a task that prints."""
    say_ready()
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
