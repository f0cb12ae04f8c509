"""``shoal up --detach``: start in the background, return when ready or say why not."""

import subprocess
import sys
from collections.abc import Sequence

import typer

from shoal.local.directory import DataDirectory, LocalSettings
from shoal.roles.config import Given, read_config
from shoal.runtime.errors import Unavailable

LOG_LINES_SHOWN = 5


def start_detached(given: Given, apps: Sequence[str], workers: int, nodes: int) -> None:
    """The child has a session of its own; it says on its stdout when it is ready, and then no more."""
    directory = DataDirectory.prepare(read_config(given)[LocalSettings].data_dir)
    log_file = directory.logs / "up.log"
    with log_file.open("wb") as log:
        child = subprocess.Popen(
            [sys.executable, "-m", "shoal", "up", *_arguments(given, apps, workers, nodes)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
        )
    if child.stdout is None:
        raise RuntimeError("the child was started without a pipe")
    ready = child.stdout.readline()
    if not ready:
        code = child.wait()
        if code:
            typer.echo("\n".join(_why(log_file.read_text(encoding="utf-8", errors="replace"))), err=True)
            raise typer.Exit(code)
        raise Unavailable("up_ended", "It ended before it was ready.", hint=f"Its log is {log_file}.")
    typer.echo(ready.decode().strip())


def _why(log: str) -> list[str]:
    """What was said to people, from the first error on; without one the last lines there are."""
    lines = log.splitlines()
    first = next((number for number, line in enumerate(lines) if line.startswith("error:")), None)
    if first is None:
        return lines[-LOG_LINES_SHOWN:]
    return [line for line in lines[first:] if not line.startswith("{")]


def _arguments(given: Given, apps: Sequence[str], workers: int, nodes: int) -> list[str]:
    arguments = ["--workers", str(workers), "--nodes", str(nodes)]
    for app in apps:
        arguments += ["--app", app]
    if given.file is not None:
        arguments += ["--config", str(given.file)]
    for name, value in given.flags.items():
        if value is not None:
            arguments += ["--set", f"{name}={value}"]
    return arguments
