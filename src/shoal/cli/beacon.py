"""``shoal beacon``: what a Centrifugo has to be told to carry the live messages."""

import json
from typing import Annotated

import typer

from shoal.cli.options import configured
from shoal.roles.config import Given, read_attached_config

app = typer.Typer(help="Live messages through a Centrifugo server.", no_args_is_help=True)

RedisUrl = Annotated[
    str | None,
    typer.Option("--redis", help="The Redis of Centrifugo; else the one of Shoal.", show_default=False),
]


@app.command()
@configured
def config(
    *,
    given: Given,
    sentinel_url: Annotated[
        str | None,
        typer.Option(help="Where Centrifugo finds the sentinels; else the public URL.", show_default=False),
    ] = None,
    redis: RedisUrl = None,
    origin: Annotated[
        list[str] | None,
        typer.Option(help="A page that may connect, as in https://app.example.org.", show_default=False),
    ] = None,
    connect_proxy: Annotated[
        bool, typer.Option("--connect-proxy", help="Ask a sentinel who may connect and who may stay.")
    ] = False,
) -> None:
    """Print a configuration for Centrifugo 6. It holds no secret: 'shoal beacon environment' has them."""
    from shoal.roles.beacon import written_configuration

    written = written_configuration(
        read_attached_config(given),
        sentinel_url=sentinel_url,
        redis_url=redis,
        origins=origin,
        is_connect_asked=connect_proxy,
    )
    typer.echo(json.dumps(written, indent=2))


@app.command()
@configured
def environment(*, given: Given, redis: RedisUrl = None) -> None:
    """Print the secrets that Centrifugo reads from its environment, a line each. Keep them to yourself."""
    from shoal.roles.beacon import needed_environment

    for name, value in needed_environment(read_attached_config(given), redis_url=redis).items():
        typer.echo(f"{name}={value}")
