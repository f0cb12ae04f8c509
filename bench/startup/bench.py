"""``shoal up``: the time until everything configured is connected, and the memory of all its processes.

cold: an empty data directory (initdb, all migrations). warm: the same directory again. The clock runs
from launching the command to the first ``/status`` that says 200 with everything configured connected.
"""

import asyncio
import http.client
import json
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from bench.harness.database import bare_sql_rows_per_s
from bench.harness.memory import pss_mb_by_name
from bench.harness.samples import Samples
from bench.harness.servers import bench_folder, embedded_postgres
from bench.harness.table import say_samples, say_settings

APP = "examples.hello:app"
READY_S = 60.0
END_S = 60.0
LOOK_EVERY_S = 0.005
SETTLING_S = 2.0
REFERENCE_ROWS = 20_000
WARM_GOAL_S = 3.0
PSS_GOAL_MB = 400.0


@dataclass(frozen=True)
class Start:
    """One start: seconds until ``/status`` was healthy and until it said ready, and megabytes by kind."""

    healthy_s: float
    ready_s: float
    pss_mb: dict[str, float]


def measure(*, quick: bool) -> dict[str, float]:
    cold_runs, warm_runs = (2, 4) if quick else (5, 15)
    say_settings(
        {
            "command": f"shoal up --app {APP} --port … --data-dir … (all other settings are the defaults)",
            "memory": f"proportional set size of the whole tree, {SETTLING_S:.0f} s after it was ready",
            "goals": f"warm <= {WARM_GOAL_S} s, memory < {PSS_GOAL_MB:.0f} MB",
        }
    )
    with bench_folder() as folder:
        cold = [start_and_stop(folder / f"cold-{number}") for number in range(cold_runs)]
        start_and_stop(folder / "warm")
        warm = [start_and_stop(folder / "warm") for _ in range(warm_runs)]
        postgres_s, rows_per_s = asyncio.run(reference(folder / "warm"))
    ready_warm = Samples([one.healthy_s for one in warm])
    ready_cold = Samples([one.healthy_s for one in cold])
    memory = Samples([sum(one.pss_mb.values()) for one in warm])
    kinds = sorted({kind for one in warm for kind in one.pss_mb})
    say_samples(
        [
            ("warm: /status is healthy", ready_warm, "s"),
            ("warm: also its worker is ready", Samples([one.ready_s for one in warm]), "s"),
            ("cold: /status is healthy", ready_cold, "s"),
            ("memory of all processes", memory, "MB"),
            *((f"  {kind}", Samples([one.pss_mb.get(kind, 0) for one in warm]), "MB") for kind in kinds),
            ("reference: PostgreSQL alone is ready", postgres_s, "s"),
            ("reference: bare SQL, batches of 1,000", rows_per_s, "rows/s"),
        ]
    )
    return {
        "ready_s_warm": ready_warm.figure,
        "ready_s_cold": ready_cold.figure,
        "pss_mb": memory.figure,
    }


def start_and_stop(data_dir: Path) -> Start:
    port = free_port()
    command = [sys.executable, "-m", "shoal", "up", "--app", APP]
    with (data_dir.parent / f"{data_dir.name}.log").open("ab") as log:
        began = time.perf_counter()
        process = subprocess.Popen(
            [*command, "--port", str(port), "--data-dir", str(data_dir)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
        )
    try:
        wait_until_healthy(port, process)
        healthy_s = time.perf_counter() - began
        assert process.stdout is not None
        if not process.stdout.readline():
            raise RuntimeError(f"shoal up ended before it was ready; its log is {log.name}")
        ready_s = time.perf_counter() - began
        time.sleep(SETTLING_S)
        return Start(healthy_s, ready_s, pss_mb_by_name(process.pid))
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(END_S)


def wait_until_healthy(port: int, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.perf_counter() + READY_S
    while not is_healthy(port):
        if process.poll() is not None or time.perf_counter() > deadline:
            raise RuntimeError(f"shoal up was not healthy within {READY_S:.0f} s")
        time.sleep(LOOK_EVERY_S)


def is_healthy(port: int) -> bool:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=5)) as connection:
        try:
            connection.request("GET", "/status")
            answer = connection.getresponse()
            status = json.loads(answer.read())
        except (OSError, http.client.HTTPException, ValueError):
            return False
    parts = {status[name] for name in ("redis", "supabase", "vault")}
    return answer.status == http.client.OK and parts == {"connected"}


def free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


async def reference(data_dir: Path) -> tuple[Samples, Samples]:
    """What the machine does without us: PostgreSQL's own start, and bare SQL."""
    starts = []
    for _ in range(3):
        began = time.perf_counter()
        async with embedded_postgres(data_dir):
            starts.append(time.perf_counter() - began)
    async with embedded_postgres(data_dir) as postgres:
        rate = await bare_sql_rows_per_s(postgres.url, rows=REFERENCE_ROWS, repetitions=3)
    return Samples(starts), rate
