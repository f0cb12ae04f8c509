"""``shoal worker``: processes that run tasks."""

from typing import Annotated

import typer

from shoal.cli.options import configured
from shoal.roles.config import Given, read_attached_config

app = typer.Typer(help="Processes that run tasks.", no_args_is_help=True)


@app.command()
@configured
def run(
    *,
    given: Given,
    apps: Annotated[
        list[str], typer.Argument(metavar="MODULE:APP...", help="The apps to run, as in examples.hello:app.")
    ],
    types: Annotated[
        str | None,
        typer.Option(
            metavar="TYPE,TYPE", help="Claim tasks of these types alone; to plan jobs of a type is plan:TYPE."
        ),
    ] = None,
    concurrency: Annotated[
        int | None, typer.Option(min=1, help="Tasks to run at a time.", show_default=False)
    ] = None,
    until_stdin_closes: Annotated[bool, typer.Option("--until-stdin-closes", hidden=True)] = False,
) -> None:
    """Claim and run tasks of one or more apps until told to stop."""
    from shoal.cli.run import run_role
    from shoal.roles.worker import run_worker
    from shoal.roles.worker_apps import load_apps
    from shoal.worker.settings import WorkerSettings

    settings = read_attached_config(given.with_flags(worker_types=types, worker_concurrency=concurrency))
    run_role(
        run_worker(
            settings,
            load_apps(apps, settings[WorkerSettings].worker_types),
            on_ready=lambda: typer.echo("ready"),
            with_stdin=until_stdin_closes,
        ),
        settings=settings,
        name="worker",
    )
