"""One origin and servers with links of the same speed: seconds until all have everything.

Ours is ``shoal up`` and so many ``shoal mesh serve``, each capped in both directions, the vault of ``up`` is
the origin. The time is that from the beginning of the push to the last shard of the last server.
"""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench.harness.servers import bench_folder

PIECE = 1024 * 1024
MEGABYTE = 1_000_000
LONGEST_S = 240.0


def by_shoal(*, servers: int, mebibytes: int, mb_s: float, shard_mb: int) -> dict[str, Any]:
    with bench_folder() as folder, ExitStack() as ending:
        data_dir = folder / "data"
        start(["up", "--port", "0"], data_dir, folder / "up.log", ending)
        source = folder / "source"
        source.mkdir()
        (source / "data").write_bytes(os.urandom(mebibytes * PIECE))
        shoal(data_dir, "mesh", "publish", str(source), "--name", "bench", "--shard-mb", str(shard_mb))
        for number in range(servers):
            given = ["mesh", "serve", "--store", str(folder / str(number)), "--set", "mesh_into=-"]
            for cap in ("mesh_up_mb_s", "mesh_down_mb_s"):
                given += ["--set", f"{cap}={mb_s}"]
            start(given, data_dir, folder / f"{number}.log", ending)
        deadline = time.monotonic() + LONGEST_S
        while len(json.loads(shoal(data_dir, "mesh", "status", "--json"))["servers"]) < servers:
            assert time.monotonic() < deadline
        job = json.loads(shoal(data_dir, "mesh", "push", "bench", "--json"))["jobId"]
        while True:
            found: dict[str, Any] = json.loads(shoal(data_dir, "job", "show", job, "--json"))
            if found["status"] not in {"queued", "processing"}:
                break
            assert time.monotonic() < deadline
            time.sleep(2)  # each look starts a process, which takes time from the servers
        assert found["status"] == "complete", found
        result: dict[str, Any] = found["result"]
        assert len(result["complete"]) == servers
        return result


def by_libtorrent(python: str, *, peers: int, mebibytes: int, mb_s: float) -> dict[str, float]:
    with bench_folder() as folder:
        side = Path(__file__).parent / "sides" / "torrent.py"
        arguments = [str(folder), str(mebibytes * PIECE), str(peers), str(int(mb_s * MEGABYTE))]
        done = subprocess.run(
            [python, str(side), *arguments],
            check=True,
            capture_output=True,
            text=True,
            timeout=LONGEST_S + 60,
        )
        found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
        return found


def start(arguments: list[str], data_dir: Path, log_file: Path, ending: ExitStack) -> None:
    with log_file.open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "shoal", *arguments, "--data-dir", str(data_dir)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
        )
    ending.callback(end, process)
    assert process.stdout is not None
    assert process.stdout.readline(), f"see {log_file}"


def end(process: "subprocess.Popen[bytes]") -> None:
    process.send_signal(signal.SIGTERM)
    process.wait(60)
    if process.stdout is not None:
        process.stdout.close()


def shoal(data_dir: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "shoal", *arguments, "--data-dir", str(data_dir)],
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout
