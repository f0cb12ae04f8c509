"""Fan-out and idle clients: the embedded hub beside a real Centrifugo (with its engine in memory).

Messages per second are deliveries: messages times listeners, from the first publish to the last arrival.
Each side is published to as Shoal does it: the hub from inside its process, Centrifugo by its server API; the
same number in a batch on both. Listeners count bytes in a process of their own, on the same machine, and
cost both sides the same.
"""

import asyncio
import json
import resource
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import httpx

from bench.harness.memory import pss_mb_by_name
from bench.harness.samples import Samples
from bench.harness.servers import bench_folder
from bench.harness.table import say, say_ratio, say_samples, say_settings
from shoal.beacon.model import Identity
from shoal.beacon.tokens import ConnectionTokens
from shoal.runtime.clock import SystemClock
from tests.contract.beacon.raw import RawClient
from tests.support.centrifugo import Centrifugo, build

SECRET = "a secret that is long enough for HS256"
API_KEY = "the key of the server API"
CHANNEL = "bench:1"
LISTENERS = 200
SIZE = 100
BATCH = 100
LATENCY_PER_S = 50
IDLE = 2000
SETTLING_S = 2.0
RATIO_GOAL = 0.2
MEMORY_GOAL_MB = 150


@dataclass(frozen=True)
class Load:
    messages: int
    repetitions: int
    probes: int


@dataclass(frozen=True)
class Carried:
    """What one side did: deliveries a second in batches and one by one, and seconds to arrive."""

    rates: Samples
    singles: Samples
    p50_s: float
    p99_s: float

    def lines(self, name: str) -> list[tuple[str, Samples, str]]:
        return [
            (name, self.rates, "deliveries/s"),
            (f"{name}, message by message", self.singles, "deliveries/s"),
            (f"{name}, latency p50", Samples([self.p50_s * 1000]), "ms"),
            (f"{name}, latency p99", Samples([self.p99_s * 1000]), "ms"),
        ]

    def figures(self, name: str) -> dict[str, float]:
        return {
            f"{name}_deliveries_per_s": self.rates.figure,
            f"{name}_p50_ms": round(self.p50_s * 1000, 3),
            f"{name}_p99_ms": round(self.p99_s * 1000, 3),
        }


def measure(*, quick: bool) -> dict[str, float]:
    has_peer = built()
    load = Load(400, 3, 100) if quick else Load(1000, 9, 400)
    say_settings(
        {
            "fan-out": f"{load.messages} messages of {SIZE} characters, by {BATCH}, to {LISTENERS} listeners",
            "latency": f"{LATENCY_PER_S} messages a second to the same listeners",
            "idle": f"{IDLE} clients, each listening to one channel",
            "goals": f"hub_vs_centrifugo >= {RATIO_GOAL}, hub_mb_at_{IDLE} < {MEMORY_GOAL_MB} MB",
        }
    )
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    token = ConnectionTokens(SECRET, SystemClock()).issue(
        Identity("bench", int(time.time()) + 3600, meta={"kind": "bench"})
    )
    with hub() as side:
        alone_mb = side.memory_mb()
        ours = carry(side, token, load)
    with hub() as side, listeners(side, token, IDLE):
        time.sleep(SETTLING_S)
        idle_mb = side.memory_mb()
    peers: list[Carried] = []
    if has_peer:
        with bench_folder() as folder, centrifugo(folder) as peer:
            peers.append(carry(peer, token, load))
    say_samples(
        [
            *ours.lines("hub"),
            *(line for peer in peers for line in peer.lines("Centrifugo")),
            ("hub's process, without clients", Samples([alone_mb]), "MB"),
            (f"hub's process, {IDLE} idle clients", Samples([idle_mb]), "MB"),
        ]
    )
    say(f"one idle client: {(idle_mb - alone_mb) * 1000 / IDLE:.1f} KB")
    figures = {**ours.figures("hub"), f"hub_mb_at_{IDLE}": round(idle_mb, 1)}
    for theirs in peers:
        ratio = say_ratio("hub_vs_centrifugo", ("hub", ours.rates), ("Centrifugo", theirs.rates))
        singly = say_ratio("hub_vs_centrifugo_singly", ("hub", ours.singles), ("Centrifugo", theirs.singles))
        figures |= theirs.figures("centrifugo")
        figures |= {"hub_vs_centrifugo": round(ratio, 3), "hub_vs_centrifugo_singly": round(singly, 3)}
    return figures


def built() -> bool:
    """Whether there is a Centrifugo to compare with; it is built once."""
    try:
        build()
    except (OSError, subprocess.SubprocessError) as error:
        say(f"Centrifugo: NOT INSTALLED; it is left out, and there is no ratio ({error})")
        return False
    return True


def carry(side: "Side", token: str, load: Load) -> Carried:
    with listeners(side, token, LISTENERS) as crowd:
        rates_of = rates(side, crowd, load.messages, load.repetitions, batch=BATCH)
        singles = rates(side, crowd, load.messages, load.repetitions, batch=1)
        return Carried(rates_of, singles, *latency(side, crowd, load.probes))


class Side(ABC):
    """One of the two, running."""

    client_url: str
    pid: int

    def memory_mb(self) -> float:
        return sum(pss_mb_by_name(self.pid).values())

    @abstractmethod
    def publish(self, count: int, *, batch: int = 1, per_s: float | None = None) -> None:
        """Return when all of it is published, not when it has arrived."""


class HubSide(Side):
    def __init__(self, url: str, pid: int, token: str) -> None:
        self.client_url = f"ws{url.removeprefix('http')}/connection/websocket"
        self.pid = pid
        self._token = token

    def publish(self, count: int, *, batch: int = 1, per_s: float | None = None) -> None:
        asked = {"channel": CHANNEL, "count": count, "size": SIZE, "batch": batch}
        asyncio.run(self._call({**asked, **({} if per_s is None else {"per_s": per_s})}))

    async def _call(self, asked: dict[str, object]) -> None:
        client = await RawClient.open(self.client_url)
        await client.connect(self._token)
        await client.say({"id": 2, "rpc": {"method": "publish", "data": asked}})
        await client.hear(deadline_s=60)
        await client.close()


class CentrifugoSide(Side):
    def __init__(self, server: Centrifugo) -> None:
        self.client_url = server.client_url
        self.pid = server.pid
        self._http = httpx.Client(
            base_url=server.url, headers={"X-API-Key": API_KEY}, trust_env=False, timeout=60
        )

    def publish(self, count: int, *, batch: int = 1, per_s: float | None = None) -> None:
        for _ in range(0, count, batch):
            data = {"at": time.monotonic(), "text": "x" * SIZE}
            command = {"publish": {"channel": CHANNEL, "data": data}}
            self._http.post("/api/batch", json={"commands": [command] * batch}).raise_for_status()
            if per_s:
                time.sleep(1 / per_s)


class Crowd:
    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def hear(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the listeners ended"
        return line.strip()

    def expect(self, what: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{what}\n")
        self._process.stdin.flush()


def rates(side: Side, crowd: Crowd, messages: int, repetitions: int, *, batch: int) -> Samples:
    found = []
    for _ in range(repetitions + 1):
        crowd.expect(str(messages * LISTENERS))
        began = time.monotonic()
        side.publish(messages, batch=batch)
        found.append(messages * LISTENERS / (float(crowd.hear()) - began))
    return Samples(found[1:])  # the first one warms both sides up


def latency(side: Side, crowd: Crowd, probes: int) -> tuple[float, float]:
    crowd.expect(f"latency {probes * LISTENERS}")
    side.publish(probes, per_s=LATENCY_PER_S)
    median, ninety_ninth = json.loads(crowd.hear())
    return float(median), float(ninety_ninth)


@contextmanager
def hub() -> Iterator[HubSide]:
    token = ConnectionTokens(SECRET, SystemClock()).issue(
        Identity("publisher", int(time.time()) + 3600, meta={"kind": "bench"})
    )
    with _process("bench.beacon.hub_process", SECRET) as process:
        assert process.stdout is not None
        yield HubSide(_last_word(process.stdout), process.pid, token)


@contextmanager
def centrifugo(folder: Path) -> Iterator[CentrifugoSide]:
    server = Centrifugo(
        folder,
        {
            "client": {"token": {"hmac_secret_key": SECRET}},
            "channel": {"namespaces": [{"name": "bench", "allow_subscribe_for_client": True}]},
            "log": {"level": "warn"},
        },
        api_key=API_KEY,
    )
    asyncio.run(server.start())
    try:
        yield CentrifugoSide(server)
    finally:
        server.stop()


@contextmanager
def listeners(side: Side, token: str, count: int) -> Iterator[Crowd]:
    with _process("bench.beacon.listeners", side.client_url, token, CHANNEL, str(count)) as process:
        crowd = Crowd(process)
        assert crowd.hear() == "ready"
        yield crowd


@contextmanager
def _process(module: str, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _last_word(output: IO[str]) -> str:
    """The address is on the first line that is one; log lines may come before it."""
    for line in output:
        if line.startswith("http://"):
            return line.strip()
    raise AssertionError("the hub did not start")
