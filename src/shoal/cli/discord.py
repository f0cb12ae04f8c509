"""``shoal discord``: which Discord account is yours."""

from typing import Annotated

import msgspec
import typer

from shoal.cli.client import open_client
from shoal.cli.options import Json, configured
from shoal.roles.config import Given

app = typer.Typer(
    help="Your Discord account. Nodes that are open to servers you are in may run your jobs.",
    no_args_is_help=True,
)


@app.command()
@configured
def link(*, given: Given, as_json: Json = False) -> None:
    """Make a code that links a Discord account with you."""
    with open_client(given) as client:
        made = client.make_discord_link_code()
    if as_json:
        typer.echo(msgspec.json.encode(made).decode())
        return
    typer.echo(made.code)
    typer.echo(
        f"In Discord, from your account: /link code:{made.code} (until {made.expires_at:%H:%M} UTC, once)",
        err=True,
    )


@app.command()
@configured
def show(*, given: Given, as_json: Json = False) -> None:
    """Show the account that is linked with you."""
    with open_client(given) as client:
        found = client.read_discord_link()
    if as_json:
        typer.echo(msgspec.json.encode(found).decode())
        return
    typer.echo(f"{found.discord_name} ({found.discord_id}), linked {found.linked_at:%Y-%m-%d %H:%M}")


@app.command()
@configured
def unlink(
    *,
    given: Given,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Take your Discord account off."""
    if not yes:
        typer.confirm("Take your Discord account off?", abort=True)
    with open_client(given) as client:
        client.remove_discord_link()
    typer.echo("No Discord account is linked with you.")
