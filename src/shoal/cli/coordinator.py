"""``shoal coordinator``: the coordinator of the mesh as a process of its own."""

import typer

from shoal.cli.mesh import mesh_installed
from shoal.cli.options import configured
from shoal.roles.config import Given, read_config


@configured
def coordinator(given: Given) -> None:
    """Tell servers what to copy from whom. Of several, one works and the others wait to take its place."""
    with mesh_installed():
        from shoal.cli.run import run_role
        from shoal.roles.coordinator import run_coordinator

    settings = read_config(given)
    run_role(
        run_coordinator(settings, on_ready=lambda address: typer.echo(f"ready at {address}")),
        settings=settings,
        name="coordinator",
    )
