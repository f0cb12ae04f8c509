"""``shoal up``: everything on this machine, on real servers in one data directory.

What the settings name elsewhere (a database, a Redis) is used instead of an embedded server.
"""

import socket
from collections.abc import Callable, Sequence
from contextlib import closing
from importlib.util import find_spec

from shoal.api.settings import ApiSettings
from shoal.brain.settings import BrainSettings
from shoal.ledger.settings import LedgerSettings
from shoal.local.directory import DataDirectory, LocalSettings
from shoal.local.servers import servers_of
from shoal.mesh.settings import CoordinatorSettings
from shoal.node.settings import NodeSettings
from shoal.roles.config import Given, RoleSettings, read_config, read_offered_config
from shoal.roles.sentinel import sentinel_parts
from shoal.roles.worker_processes import (
    HAND_BACK_S,
    Crew,
    WorkerProcess,
    process_arguments,
    worker_arguments,
)
from shoal.runtime.errors import Invalid
from shoal.runtime.lifecycle import Part, run_parts
from shoal.runtime.logs import LogSettings, configure_logs
from shoal.runtime.settings import Settings
from shoal.worker.settings import WorkerSettings


async def run_up(
    given: Given, *, apps: Sequence[str], workers: int, nodes: int, on_ready: Callable[[str], None]
) -> None:
    """Hold the data directory and run everything until told to stop."""
    asked = read_config(given)
    directory = DataDirectory.prepare(asked[LocalSettings].data_dir)
    port = asked[ApiSettings].api_port or free_port(asked[ApiSettings].api_host)
    given = Given(flags={**given.flags, "api_port": port}, file=given.file)
    url = asked[ApiSettings].api_public_url or f"http://127.0.0.1:{port}"
    coordinator = asked[CoordinatorSettings].coordinator_listen or coordinator_address(directory)
    given = given.with_flags(coordinator_listen=coordinator)
    hold = directory.hold(url=url)
    hold.update(url=url, coordinator=coordinator)
    try:
        settings = read_offered_config(given, directory, url=url, coordinator=coordinator)
        configure_logs(settings[LogSettings])
        parts, server = sentinel_parts(settings, may_migrate=True, with_coordinator=is_mesh_installed())

        await run_parts(
            [
                *embedded_servers(asked, directory),
                *parts,
                *worker_processes(given.with_flags(data_dir=str(directory.path)), asked, apps, workers),
                *node_processes(given.with_flags(data_dir=str(directory.path)), asked, apps, nodes),
            ],
            grace_s=settings[RoleSettings].grace_period_s,
            on_started=lambda: on_ready(server.url),
        )
    finally:
        hold.release()


def coordinator_address(directory: DataDirectory) -> str:
    """The one of the last time, if it is free: agents know it. Else one that is free."""
    kept = directory.path / "coordinator-address"
    if not (kept.is_file() and is_free(kept.read_text())):
        kept.write_text(f"127.0.0.1:{free_port('127.0.0.1')}")
    return kept.read_text()


def is_free(address: str) -> bool:
    host, _, port = address.rpartition(":")
    with closing(socket.socket()) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, int(port)))
        except (OSError, ValueError):
            return False
    return True


def is_mesh_installed() -> bool:
    """The libraries of the mesh are an extra; without them there is no coordinator."""
    return all(find_spec(name) for name in ("blake3", "google_crc32c", "grpc", "numpy"))


def embedded_servers(asked: Settings, directory: DataDirectory) -> list[Part]:
    postgres, valkey = servers_of(directory)
    embedded: list[Part] = []
    if not asked[LedgerSettings].database_url:
        embedded.append(postgres)
    if not asked[BrainSettings].redis_url:
        embedded.append(valkey)
    return embedded


def worker_processes(given: Given, asked: Settings, apps: Sequence[str], workers: int) -> list[Part]:
    # The ledger stands until they have handed back what they hold.
    grace_s = asked[RoleSettings].grace_period_s
    given = given.with_flags(grace_period_s=max(grace_s - HAND_BACK_S, grace_s / 2))
    own = asked[WorkerSettings]
    return [
        WorkerProcess(f"worker {number} {app}", worker_arguments(given, [app], own, number=number))
        for number, app in enumerate([app for app in apps for _ in range(workers)], start=1)
    ]


def node_processes(given: Given, asked: Settings, apps: Sequence[str], nodes: int) -> list[Part]:
    """Each keeps what it is in a folder of its own, so that it is the same node the next time."""
    if nodes and not apps:
        raise Invalid(
            "no_engines",
            "Nodes without an app would have nothing to do.",
            hint="Name one that declares an engine, as in --app examples.fleet.app:app.",
        )
    grace_s = asked[RoleSettings].grace_period_s
    given = given.with_flags(grace_period_s=max(grace_s - HAND_BACK_S, grace_s / 2))
    folder = DataDirectory(asked[LocalSettings].data_dir).path / "nodes"
    own = asked[NodeSettings]
    parallel = own.node_parallel or max(1, own.parallel // max(1, nodes))
    processes = [
        WorkerProcess(
            f"node {number}",
            process_arguments(
                given.with_flags(
                    node_dir=folder / str(number), node_name=f"local-{number}", node_parallel=parallel
                ),
                [argument for app in apps for argument in ("--engines", app)],
            ),
            command=("node", "run", "--claim"),
        )
        for number in range(1, nodes + 1)
    ]
    return [Crew("nodes", processes)] if processes else []


def free_port(host: str) -> int:
    """A port nobody listens on now. Links name the port, so it must be known before the API listens."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with closing(socket.socket(family)) as probe:
        probe.bind((host, 0))
        port: int = probe.getsockname()[1]
        return port
