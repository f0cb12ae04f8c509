"""``shoal up``, ``down``, ``status``, ``doctor``, ``backup``, ``restore``: everything on this machine."""

import asyncio
import json
from pathlib import Path
from typing import Annotated

import typer

from shoal.cli.client import open_client
from shoal.cli.exits import BAD_NEWS
from shoal.cli.options import Json, configured
from shoal.roles.config import Given, read_config
from shoal.runtime.logs import LogSettings, configure_logs


@configured
def up(
    *,
    given: Given,
    apps: Annotated[
        list[str] | None,
        typer.Option("--app", metavar="MODULE:APP", help="Also run workers for this app."),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Worker processes per app.")] = 1,
    nodes: Annotated[
        int, typer.Option(min=0, help="Also run so many nodes, yours, with the engines of these apps.")
    ] = 0,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="The port of the API; 0 picks one.")
    ] = None,
    detach: Annotated[bool, typer.Option("--detach", help="Return once everything is ready.")] = False,
) -> None:
    """Run everything on this machine: PostgreSQL, Redis, the API and, with --app, workers and nodes."""
    from shoal.cli.detach import start_detached
    from shoal.cli.run import run_role
    from shoal.roles.up import run_up

    if port is not None:
        given = Given(flags={**given.flags, "api_port": port}, file=given.file)
    if detach:
        start_detached(given, apps or [], workers, nodes)
        return
    settings = read_config(given)
    run_role(
        run_up(
            given,
            apps=apps or [],
            workers=workers,
            nodes=nodes,
            on_ready=lambda url: typer.echo(f"ready at {url}"),
        ),
        settings=settings,
        name="up",
    )


@configured
def down(*, given: Given) -> None:
    """Stop the 'shoal up' of the data directory, and servers that one left behind when it was killed."""
    from shoal.roles.down import stop_up

    stopped = asyncio.run(stop_up(read_config(given)))
    typer.echo("\n".join(f"stopped {one}" for one in stopped) or "Nothing is running.")


@configured
def status(*, given: Given, as_json: Json = False) -> None:
    """Show whether everything is connected; exit 1 when something is not."""
    with open_client(given) as client:
        state = client.read_status()
    if as_json:
        typer.echo(json.dumps(state))
    else:
        for name, value in state.items():
            if name != "metrics":
                typer.echo(f"{name:12} {value}")
        for name, value in state["metrics"].items():
            typer.echo(f"{name:18} {value}")
    if state["status"] != "healthy":
        raise typer.Exit(BAD_NEWS)


@configured
def doctor(*, given: Given, as_json: Json = False) -> None:
    """Look at everything Shoal needs: what is reachable, which versions, what is missing, what to do."""
    from shoal.roles.doctor import examine

    findings = asyncio.run(examine(given))
    if as_json:
        shown = [
            {"part": one.part, "ok": one.ok, "found": one.found, "advice": one.advice} for one in findings
        ]
        typer.echo(json.dumps(shown, indent=2))
    else:
        for one in findings:
            typer.echo(f"{'ok  ' if one.ok else 'FAIL'}  {one.part:16} {one.found}")
            if one.advice:
                typer.echo(f"      {'':16} {one.advice}")
    if not all(one.ok for one in findings):
        raise typer.Exit(BAD_NEWS)


@configured
def backup(
    given: Given, target: Annotated[Path, typer.Argument(help="A folder that does not exist yet.")]
) -> None:
    """Copy the whole data directory, consistently, also while it is in use."""
    from shoal.local.backup import back_up
    from shoal.local.directory import DataDirectory, LocalSettings

    settings = read_config(given)
    configure_logs(settings[LogSettings])
    made = asyncio.run(back_up(DataDirectory(settings[LocalSettings].data_dir), target))
    typer.echo(f"{made.path}: {made.files} files, {made.size_bytes} bytes")


@configured
def restore(
    given: Given, source: Annotated[Path, typer.Argument(help="A folder 'shoal backup' made.")]
) -> None:
    """Restore a backup into a data directory that is empty or absent."""
    from shoal.local.backup import restore as restore_backup
    from shoal.local.directory import DataDirectory, LocalSettings

    settings = read_config(given)
    configure_logs(settings[LogSettings])
    made = asyncio.run(restore_backup(source, DataDirectory(settings[LocalSettings].data_dir)))
    typer.echo(f"{made.path}: {made.files} files, {made.size_bytes} bytes")


def add_to(app: typer.Typer) -> None:
    for command in (up, down, status, doctor, backup, restore):
        app.command(command.__name__)(command)
