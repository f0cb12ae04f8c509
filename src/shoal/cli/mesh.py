"""``shoal mesh``: big data sets, from machine to machine."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from shoal.cli.options import Json
from shoal.runtime.errors import Invalid

app = typer.Typer(help="Big data sets, copied from machine to machine.", no_args_is_help=True)

EXTRA = {"blake3", "google_crc32c", "grpc", "google", "numpy"}


@contextmanager
def mesh_installed() -> Iterator[None]:
    """The libraries of the mesh are an extra: whoever lacks them is told which."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in EXTRA:
            raise
        raise Invalid(
            "mesh_not_installed",
            f"The mesh needs {error.name}, which is not installed.",
            hint="pip install 'shoal[mesh]'",
        ) from error


@app.command()
def sim(
    *,
    servers: Annotated[int, typer.Option(min=1, max=20_000, help="Servers that shall have everything.")] = 64,
    shards: Annotated[int, typer.Option(min=1, max=20_000, help="Shards of the data set.")] = 256,
    origin_rate: Annotated[
        float,
        typer.Option(min=0.001, max=1.0, help="How fast one slot of the origin is; a link of a server is 1."),
    ] = 1.0,
    origin_slots: Annotated[int, typer.Option(min=1, help="Transfers of the origin at a time.")] = 1,
    churn: Annotated[
        float,
        typer.Option(min=0.0, max=0.5, help="The chance of a server to go, in each unit of time."),
    ] = 0.0,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same run.")] = 0,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the progress, as SVG.", show_default=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """Simulate the distribution of a data set, and hold it against the best there can be.

    A unit is the time in which one server copies one shard to another. With an origin that is not slower,
    nothing beats shards - 1 + log2(servers + 1) units, rounded up.
    """
    with mesh_installed():
        from shoal.mesh.picture import draw
        from shoal.mesh.simulator import World, simulate

    outcome = simulate(
        World(
            servers=servers,
            shards=shards,
            origin_rate=origin_rate,
            origin_slots=origin_slots,
            churn=churn,
            seed=seed,
        )
    )
    if picture is not None:
        try:
            picture.write_text(draw(outcome), encoding="utf-8")
        except OSError as error:
            raise Invalid("file_not_writable", f"{picture} cannot be written: {error.strerror}.") from error
    found = {
        "makespan": outcome.makespan,
        "bound": outcome.world.bound,
        "overBound": round(outcome.over_bound, 4),
        "fromOrigin": outcome.from_origin,
        "fromPeers": outcome.from_peers,
        "left": outcome.left,
    }
    if as_json:
        typer.echo(msgspec.json.encode(found).decode())
        return
    typer.echo(f"makespan     {outcome.makespan:g} units")
    typer.echo(f"bound        {outcome.world.bound:g} units")
    typer.echo(f"ratio        {outcome.over_bound:.3f}")
    typer.echo(f"from origin  {outcome.from_origin} shards ({shards} in the data set)")
    typer.echo(f"from peers   {outcome.from_peers} shards")
    if outcome.left:
        typer.echo(f"servers      {outcome.left} went, and as many came")
    if picture is not None:
        sys.stderr.write(f"picture in {picture}\n")
