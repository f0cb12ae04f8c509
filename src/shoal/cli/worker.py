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
    app_reference: Annotated[
        str, typer.Argument(metavar="MODULE:APP", help="The app to run, as in examples.hello:app.")
    ],
    concurrency: Annotated[
        int | None, typer.Option(min=1, help="Tasks to run at a time.", show_default=False)
    ] = None,
    until_stdin_closes: Annotated[bool, typer.Option("--until-stdin-closes", hidden=True)] = False,
) -> None:
    """Claim and run tasks of an app until told to stop."""
    from shoal.cli.run import run_role
    from shoal.roles.worker import load_app, run_worker

    if concurrency is not None:
        given = Given(flags={**given.flags, "worker_concurrency": concurrency}, file=given.file)
    settings = read_attached_config(given)
    run_role(
        run_worker(
            settings,
            load_app(app_reference),
            on_ready=lambda: typer.echo("ready"),
            with_stdin=until_stdin_closes,
        ),
        settings=settings,
        name="worker",
    )
