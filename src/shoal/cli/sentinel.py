"""``shoal sentinel``: the HTTP API as a process of its own."""

import typer

from shoal.cli.options import configured
from shoal.roles.config import Given, read_config


@configured
def sentinel(given: Given) -> None:
    """Run the HTTP API and the chores, on the servers that the settings name."""
    from shoal.cli.run import run_role
    from shoal.roles.sentinel import run_sentinel

    settings = read_config(given)
    run_role(
        run_sentinel(settings, on_ready=lambda url: typer.echo(f"ready at {url}")),
        settings=settings,
        name="sentinel",
    )
