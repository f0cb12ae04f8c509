"""``shoal config``: what is set, and where it came from."""

import json

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from shoal.cli.options import Json, configured
from shoal.roles.config import Given, read_attached_config

app = typer.Typer(help="Settings: flags over environment over file over defaults.", no_args_is_help=True)


@app.command()
@configured
def show(given: Given, as_json: Json = False) -> None:
    """List every setting with its value, where it came from and what it means. Secrets are masked."""
    rows = read_attached_config(given).rows
    if as_json:
        shown = [
            {"name": row.name, "value": row.shown, "source": row.source, "description": row.description}
            for row in rows
        ]
        typer.echo(json.dumps(shown, indent=2))
        return
    table = Table("setting", "value", "from", "what it means", show_lines=False)
    for row in rows:
        table.add_row(row.name, escape(row.shown), row.source, escape(row.description))
    Console().print(table)
