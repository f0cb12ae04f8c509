"""``shoal key``: the keys of services and workers."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

import msgspec
import typer

from shoal.access.model import IssuedKey
from shoal.cli.options import Json, configured
from shoal.roles.config import Given, read_attached_config

if TYPE_CHECKING:
    from shoal.access.service import Access

app = typer.Typer(help="Keys for services and workers.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="The name of the key.")]
Answer = TypeVar("Answer")


@app.command()
@configured
def issue(
    *,
    given: Given,
    name: Name,
    kind: Annotated[Literal["service", "worker"], typer.Option(help="What the key is for.")] = "service",
    as_json: Json = False,
) -> None:
    """Make a key. It is shown once."""
    _print_issued(_with_access(given, lambda access: access.issue_key(kind, name)), as_json=as_json)


@app.command()
@configured
def rotate(
    *,
    given: Given,
    name: Name,
    grace_hours: Annotated[
        float, typer.Option(min=0, help="For how long the replaced key still works.")
    ] = 24,
    as_json: Json = False,
) -> None:
    """Replace a key by a new one of the same name."""
    grace = timedelta(hours=grace_hours)
    _print_issued(_with_access(given, lambda access: access.rotate_key(name, grace)), as_json=as_json)


@app.command()
@configured
def revoke(*, given: Given, name: Name) -> None:
    """End a key at once."""
    _with_access(given, lambda access: access.revoke_key(name))
    typer.echo(f"The key {name} is revoked.")


@app.command("list")
@configured
def list_keys(*, given: Given, as_json: Json = False) -> None:
    """List the keys, also those that have ended."""
    keys = _with_access(given, lambda access: access.list_keys())
    if as_json:
        typer.echo(msgspec.json.encode(keys).decode())
        return
    for key in keys:
        typer.echo(f"{key.name:30} {key.kind:8} {key.state:9} {key.created_at:%Y-%m-%d %H:%M}")


def _print_issued(key: IssuedKey, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({"name": key.name, "kind": key.kind, "key": key.text}))
    else:
        typer.echo(key.text)
        typer.echo("Keep it now: it is not shown again.", err=True)


def _with_access(given: Given, call: Callable[["Access"], Awaitable[Answer]]) -> Answer:
    from shoal.roles.keys import with_access

    return asyncio.run(with_access(read_attached_config(given), call))
