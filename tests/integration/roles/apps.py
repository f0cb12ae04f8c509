"""The apps that worker processes run here. A patient task runs until the test lets it end."""

import asyncio
import os
import time
from pathlib import Path

import msgspec

from shoal import App, Context

one = App()
two = App()
clashing = App()


class Patience(msgspec.Struct):
    folder: str
    """Says in it that it runs, and ends when there is a file ``go``."""


class Cloud:
    """A scaler that writes down what it is asked for; the first time, it does not get through."""

    asked = 0

    async def size(self) -> int:
        return 0

    async def scale_to(self, workers: int) -> None:
        self.asked += 1
        if self.asked == 1:
            raise ConnectionRefusedError
        with Path(os.environ["CLOUD"]).open("a") as file:  # noqa: ASYNC230 - a line
            file.write(f"{workers}\n")


cloud = Cloud()


@one.task("quick")
def quick(context: Context) -> int:
    return os.getpid()


@one.task("patient")
async def patient(context: Context, patience: Patience) -> int:
    say_that_it_runs(context, patience)
    go = Path(patience.folder, "go")
    while not go.exists():  # noqa: ASYNC110, ASYNC240 - the test is another process
        await asyncio.sleep(0.02)
    return os.getpid()


def say_that_it_runs(context: Context, patience: Patience) -> None:
    Path(patience.folder, f"{context.name}.{context.attempt}").write_text(str(os.getpid()))


@one.task("doomed", retries=0)
def doomed(context: Context) -> None:
    raise LookupError("as it must be")


@one.task("chatty")
def chatty(context: Context) -> int:
    """Prints more than any pipe holds."""
    for _ in range(5000):
        print("x" * 100)  # noqa: T201 - this is what people do
    return os.getpid()


@one.task("deaf")
async def deaf(context: Context, patience: Patience) -> None:
    """Never lets go of the event loop."""
    say_that_it_runs(context, patience)
    while True:
        time.sleep(1)  # noqa: ASYNC251 - the very mistake


@two.task("other")
def other(context: Context) -> str:
    return "other"


@clashing.task("other")
def another(context: Context) -> str:
    return "another"
