"""An app whose engines behave, and others that do not. Processes import it by its name."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from shoal import App, Iterations
from shoal.wire.fleet import HeldChunk

REFERENCE = "tests.integration.node.engines:app"

app = App()
app.references = [REFERENCE]


@app.engine("count", version="1", reducer="moments", batch=100)
def count(config: dict[str, Any], iterations: Iterations) -> list[float]:
    return [1.0 + number for number in iterations]


@app.engine("where", version="1", reducer="collect")
def where(config: dict[str, Any], iterations: Iterations) -> list[Any]:
    return [{"pid": os.getpid(), "niceness": os.nice(0), "config": config} for _ in iterations]


@app.engine("slow", version="1", reducer="collect", batch=1)
def slow(config: dict[str, Any], iterations: Iterations) -> list[int]:
    """As many iterations as it is asked for, each a hundredth of a second long; notes its process."""
    note(config, os.getpid())
    time.sleep(0.01)
    return list(iterations)


@app.engine("stuck", version="1", reducer="collect")
def stuck(config: dict[str, Any], iterations: Iterations) -> list[int]:
    """Deaf, and with a process of its own."""
    helper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    note(config, os.getpid(), helper.pid)
    time.sleep(600)
    return []


@app.engine("bad", version="1", reducer="collect", memory_mb=200)
def bad(config: dict[str, Any], iterations: Iterations) -> list[int]:
    match config["how"]:
        case "raise":
            raise ValueError("no luck")
        case "exit":
            sys.exit(3)
        case "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "hungry":
            return [len(bytes(1024**3))]
        case "large":
            return ["x" * 100_000 for _ in iterations]  # type: ignore[misc]  # so it should be refused
    return []


def note(config: dict[str, Any], *pids: int) -> None:
    if folder := config.get("folder"):
        file = Path(folder, ".pids")
        file.write_text(" ".join(map(str, pids)))
        file.rename(Path(folder, "pids"))


def chunk(number: int, engine: str, config_hash: str = "0" * 64, iterations: int = 1) -> HeldChunk:
    return HeldChunk(
        id=f"task.{number}.1",
        job_id="job",
        engine=f"{engine}@1",
        config_hash=config_hash,
        seed_offset=number * iterations,
        iterations=iterations,
    )
