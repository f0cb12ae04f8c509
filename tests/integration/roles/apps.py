"""The apps that worker processes run here. A patient task runs until the test lets it end."""

import asyncio
import os
from pathlib import Path

import msgspec

from shoal import App, Context

one = App()
two = App()
clashing = App()


class Patience(msgspec.Struct):
    folder: str
    """Says in it that it runs, and ends when there is a file ``go``."""


@one.task("quick")
def quick(context: Context) -> int:
    return os.getpid()


@one.task("patient")
async def patient(context: Context, patience: Patience) -> int:
    folder = Path(patience.folder)
    (folder / f"{context.name}.{context.attempt}").write_text(str(os.getpid()))
    while not (folder / "go").exists():  # noqa: ASYNC110 - the test is another process
        await asyncio.sleep(0.02)
    return os.getpid()


@one.task("doomed", retries=0)
def doomed(context: Context) -> None:
    raise LookupError("as it must be")


@two.task("other")
def other(context: Context) -> str:
    return "other"


@clashing.task("other")
def another(context: Context) -> str:
    return "another"
