"""``shoal db``: the schema of the ledger."""

import asyncio
import json

import typer

from shoal.cli.exits import BAD_NEWS
from shoal.cli.options import Json, configured
from shoal.roles.config import Given, read_attached_config

app = typer.Typer(help="The database schema.", no_args_is_help=True)


@app.command()
@configured
def migrate(given: Given, as_json: Json = False) -> None:
    """Bring the database up to this version of Shoal."""
    from shoal.roles.database import migrate_database

    applied = asyncio.run(migrate_database(read_attached_config(given)))
    if as_json:
        typer.echo(json.dumps({"applied": applied}))
    elif applied:
        typer.echo("\n".join(f"applied {name}" for name in applied))
    else:
        typer.echo("The schema is up to date.")


@app.command()
@configured
def status(given: Given, as_json: Json = False) -> None:
    """Show which migrations are applied; exit 1 when some are missing."""
    from shoal.roles.database import read_schema_state

    state = asyncio.run(read_schema_state(read_attached_config(given)))
    if as_json:
        typer.echo(json.dumps({"applied": state.applied, "missing": state.missing}))
    else:
        for name in state.applied:
            typer.echo(f"applied  {name}")
        for name in state.missing:
            typer.echo(f"missing  {name}")
    if state.missing:
        raise typer.Exit(BAD_NEWS)
