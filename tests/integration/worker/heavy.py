"""An app whose tasks run in processes. Those import it by its name, as a user's app is imported."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec

from shoal import App, Context, Graph, PermanentFailure, RetryAfter, Snooze

REFERENCE = "tests.integration.worker.heavy:app"

app = App()
app.references = [REFERENCE]


class Folder(msgspec.Struct):
    """Where a task leaves what a test wants to see."""

    path: str

    def note(self, name: str, text: str = "") -> None:
        file = Path(self.path, f".{name}")
        file.write_text(text)
        file.rename(Path(self.path, name))


@app.task("where", run_in="process")
def where(context: Context, given: dict[str, Any]) -> dict[str, Any]:
    return {
        "pid": os.getpid(),
        "given": given,
        "needs": dict(context.needs),
        "attempt": [context.attempt, context.max_attempts],
        "name": context.name,
        "imported": "shoal.ledger.pool" in sys.modules,
    }


@app.task("where_async", run_in="process")
async def where_async(context: Context) -> int:
    await asyncio.sleep(0)
    return os.getpid()


@app.task("tell", run_in="process")
def tell(context: Context, folder: Folder) -> None:
    context.progress(0.25, "a quarter")
    context.progress(0.5, "half")
    context.log.info("drawing", page=1, file=Path("a.txt"))
    context.log.warning("no \ud800 ink")
    until_there(folder, "heard")


@app.task("make", run_in="process")
def make(context: Context) -> None:
    async def blocks() -> AsyncIterator[bytes]:
        yield b"in "
        yield b"blocks"

    file = context.workdir / "file.txt"
    file.write_text("from a file")
    context.artifact("file.txt", file, type="text", duration_seconds=2.5)
    context.artifact("bytes.bin", b"\0\xff", type="data")
    context.artifact("stream.bin", blocks(), type="data", content_type="text/plain", fallback_for="bytes.bin")


@app.task("fail", run_in="process")
def fail(context: Context, how: str) -> Any:
    match how:
        case "error":
            raise ValueError("no \ud800")
        case "permanent":
            raise PermanentFailure("never")
        case "later":
            raise RetryAfter(1000, "not yet")
        case "snooze" if context.attempt == 1:
            raise Snooze(1000, "too early")
        case "exit":
            sys.exit(3)
        case "die":
            os._exit(3)
        case "crash":
            os.kill(os.getpid(), 11)
        case "mute":
            os.closerange(3, 100)
        case "output":
            return object()
    return None


@app.task("hog", run_in="process", memory_mb=200)
def hog(context: Context, megabytes: int) -> int:
    return len(bytearray(megabytes * 1024 * 1024))


@app.task("endless", run_in="process")
def endless(context: Context, folder: Folder) -> None:
    """Stops when it is asked to."""
    folder.note("pid", str(os.getpid()))
    while not context.cancelled:
        time.sleep(0.01)
    folder.note("asked")


@app.task("endless_async", run_in="process")
async def endless_async(context: Context, folder: Folder) -> None:
    folder.note("pid", str(os.getpid()))
    try:
        await asyncio.Event().wait()
    finally:
        folder.note("asked")


@app.task("deaf", run_in="process")
def deaf(context: Context, folder: Folder) -> None:
    """Never stops, has started a process that never does either, and keeps the interpreter to itself."""
    asleep = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    folder.note("pid", f"{os.getpid()} {asleep.pid}")
    sum(range(10**12))


@app.job("deafness")
def deafness(params: Folder) -> Graph:
    graph = Graph()
    graph.add(deaf, params)
    return graph


def until_there(folder: Folder, name: str) -> None:
    while not Path(folder.path, name).exists():
        time.sleep(0.01)
