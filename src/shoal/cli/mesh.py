"""``shoal mesh``: big data sets, from machine to machine."""

import asyncio
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from shoal.cli.client import open_client
from shoal.cli.exits import BAD_NEWS
from shoal.cli.job_progress import watch_job
from shoal.cli.options import Json, configured
from shoal.roles.config import Given, read_attached_config
from shoal.runtime.errors import Invalid
from shoal.wire.mesh import PushDataSet

app = typer.Typer(help="Big data sets, copied from machine to machine.", no_args_is_help=True)

MEBIBYTE = 1024 * 1024
LOOK_EVERY_S = 0.5
NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
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


@app.command()
@configured
def publish(
    *,
    given: Given,
    folder: Annotated[Path, typer.Argument(help="What is in it becomes the data set.", exists=True)],
    name: Annotated[str, typer.Option(help="What it is called; published again, the last one counts.")],
    shard_mb: Annotated[
        float,
        typer.Option(
            min=0.0, max=1024, help="Size of a shard in MiB; 0 chooses one that gives some hundred shards."
        ),
    ] = 0,
    as_json: Json = False,
) -> None:
    """Put a folder into the vault as a data set. Works on the vault and the database themselves."""
    if not re.fullmatch(NAME, name):
        raise Invalid(
            "data_set_name_unusable",
            f"A data set cannot be called {name!r}.",
            hint="Up to 100 letters, digits, dots, dashes and underscores, with a letter or digit first.",
        )
    with mesh_installed():
        from shoal.roles.mesh_publish import publish as publish_it

    settings = read_attached_config(given)
    with bytes_bar("publishing", quiet=as_json) as on_progress:
        published = asyncio.run(
            publish_it(
                settings,
                folder,
                name=name,
                shard_size=int(shard_mb * MEBIBYTE),
                on_progress=on_progress,
            )
        )
    data_set = published.data_set
    if as_json:
        found = {
            "id": published.id,
            "name": name,
            "sizeBytes": data_set.size,
            "shards": len(data_set.shards),
            "files": len(data_set.files),
            "uploaded": published.uploaded,
        }
        typer.echo(msgspec.json.encode(found).decode())
        return
    typer.echo(f"published {name}: {len(data_set.files)} files, {data_set.size} bytes")
    typer.echo(f"shards    {len(data_set.shards)}, of which {published.uploaded} were new to the vault")
    typer.echo(f"id        {published.id}")


@app.command("sets")
@configured
def list_sets(*, given: Given, as_json: Json = False) -> None:
    """List the data sets, the last published first."""
    with open_client(given) as client:
        found = client.list_data_sets()
    if as_json:
        typer.echo(msgspec.json.encode(found).decode())
        return
    for one in found.data_sets:
        typer.echo(
            f"{one.name:30} {one.size_bytes:>15} bytes {one.files:>7} files {one.shards:>6} shards  "
            f"{one.published_at:%Y-%m-%d %H:%M:%S}  {one.id[:12]}"
        )


@app.command()
@configured
def push(
    *,
    given: Given,
    data_set: Annotated[str, typer.Argument(metavar="NAME", help="The data set, by name or id.")],
    to: Annotated[
        list[str] | None,
        typer.Option(help="A label or the id of a server; may be repeated. Left out: all servers."),
    ] = None,
    deadline: Annotated[
        float | None,
        typer.Option(min=1, metavar="SECONDS", help="It is over then, whoever lacks something."),
    ] = None,
    watch_it: Annotated[bool, typer.Option("--watch", help="Show its progress until it ends.")] = False,
    as_json: Json = False,
) -> None:
    """Bring a data set to servers: start the job that does it.

    Exits 1 when it is watched and does not complete.
    """
    targets = [one for one in to or [] if one != "all"]
    with open_client(given) as client:
        pushed = client.push_data_set(PushDataSet(data_set=data_set, to=targets, deadline_s=deadline))
        if not watch_it:
            typer.echo(msgspec.json.encode(pushed).decode() if as_json else str(pushed.job_id))
            return
        job = watch_job(client, client.read_job(pushed.job_id), quiet=as_json)
    typer.echo(msgspec.json.encode(job).decode() if as_json else f"{job.status}  {job.error or job.result}")
    if job.status != "complete":
        raise typer.Exit(BAD_NEWS)


@app.command()
@configured
def status(
    *,
    given: Given,
    watch_it: Annotated[bool, typer.Option("--watch", help="Go on looking until it is interrupted.")] = False,
    as_json: Json = False,
) -> None:
    """Show the servers of the mesh, and what of the data set that is pushed each of them has."""
    from rich.console import Console
    from rich.live import Live

    from shoal.cli.mesh_heat import heat_map

    with open_client(given) as client:
        view = client.read_mesh()
        if as_json:
            typer.echo(msgspec.json.encode(view).decode())
        elif not watch_it:
            Console().print(heat_map(view))
        else:
            with Live(heat_map(view), auto_refresh=False) as live:
                while True:
                    time.sleep(LOOK_EVERY_S)
                    live.update(heat_map(client.read_mesh()), refresh=True)


@app.command()
@configured
def serve(
    *,
    given: Given,
    coordinator: Annotated[
        list[str] | None,
        typer.Option(help="Where a coordinator answers, as in 10.0.0.2:8090; may be repeated."),
    ] = None,
    store: Annotated[Path | None, typer.Option(help="The folder for shards.", show_default=False)] = None,
    into: Annotated[
        Path | None, typer.Option(help="Lay data sets out as files below this folder.", show_default=False)
    ] = None,
    listen: Annotated[
        str | None, typer.Option(help="Where to give out shards, as in 0.0.0.0:8091.", show_default=False)
    ] = None,
    address: Annotated[
        str | None, typer.Option(help="Where others reach it, if not there.", show_default=False)
    ] = None,
    label: Annotated[list[str] | None, typer.Option(help="A label of this server; may be repeated.")] = None,
) -> None:
    """Take part in the mesh: get what is pushed, and give it on, until told to stop."""
    with mesh_installed():
        from shoal.cli.run import run_role
        from shoal.roles.mesh_agent import run_mesh_agent

    flags: dict[str, object] = {
        "mesh_coordinators": ",".join(coordinator) if coordinator else None,
        "mesh_store": store and str(store),
        "mesh_into": into and str(into),
        "mesh_listen": listen,
        "mesh_address": address,
        "mesh_labels": ",".join(label) if label else None,
    }
    settings = read_attached_config(given.with_flags(**flags))
    run_role(
        run_mesh_agent(settings, on_ready=lambda: typer.echo("ready")), settings=settings, name="mesh agent"
    )


@contextmanager
def bytes_bar(what: str, *, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    console = Console(stderr=True, quiet=quiet)
    columns = (TextColumn(what), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        bar = bars.add_task(what)
        yield lambda done, size: bars.update(bar, completed=done, total=size)
