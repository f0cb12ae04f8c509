"""The node process: a stranger's machine, or one of ours, that computes chunks."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence

from shoal.app.engine import Engine
from shoal.local.directory import DataDirectory, LocalSettings
from shoal.node.agent import NodeAgent
from shoal.node.configs import ConfigCache
from shoal.node.door import Door, ServersClock
from shoal.node.duties import Duties
from shoal.node.folder import NodeFolder
from shoal.node.identity import open_identity
from shoal.node.processes import Processes
from shoal.node.results import ResultStore
from shoal.node.settings import NodeSettings
from shoal.roles.config import ClientSettings, Given, RoleSettings, read_config, read_found_config
from shoal.roles.stdin_guard import StdinGuard
from shoal.roles.worker_apps import load_app, load_apps
from shoal.runtime.clock import Clock, SystemClock
from shoal.runtime.errors import Invalid, Unavailable
from shoal.runtime.lifecycle import Part, run_parts
from shoal.runtime.settings import Settings
from shoal.wire.fleet import Registered

MB = 1024 * 1024
FAREWELL_S = 4.0
"""Of the grace, what is left for stopping processes and saying goodbye."""
PREDECESSOR_S = 20.0
"""How long the node of an ``up`` that was killed may take to notice."""


def read_node_config(given: Given) -> Settings:
    """Of the ``shoal up`` of a data directory, a node needs to know no more than where it is."""
    settings = read_config(given)
    holder = DataDirectory(settings[LocalSettings].data_dir).holder()
    return settings if holder is None else read_found_config(given, {"api_url": holder.url})


def load_engines(references: Sequence[str]) -> tuple[list[Engine], list[str]]:
    """The engines that the apps declare, and the apps that declare any."""
    engines = list(load_apps(references).engines.values())
    if not engines:
        raise Invalid(
            "no_engines",
            f"There is no engine in {', '.join(references)}, so there would be nothing to do.",
            hint="Name an app that declares one with @app.engine, as in examples.fleet.app:app.",
        )
    return engines, [reference for reference in references if load_app(reference).engines]


async def run_node(
    settings: Settings,
    references: Sequence[str],
    *,
    engines: Iterable[Engine],
    on_registered: Callable[[Registered], Awaitable[None]],
    on_ready: Callable[[], None],
    with_stdin: bool = False,
) -> None:
    """``with_stdin`` ties the life of the node to whoever holds the other end of its stdin."""
    own = settings[NodeSettings]
    url = settings[ClientSettings].api_url
    if not url:
        raise Unavailable(
            "nothing_running",
            "This node does not know for whom to work.",
            hint="Give it an address with --url, as in https://shoal.example.org.",
        )
    grace_s = settings[RoleSettings].grace_period_s
    folder = NodeFolder(own.node_dir)
    folder.hold(patience_s=PREDECESSOR_S if with_stdin else 0.0)
    try:
        agent = build_agent(
            own,
            folder,
            url=url,
            engines=engines,
            references=references,
            drain_s=max(0.0, grace_s - FAREWELL_S),
            on_registered=on_registered,
        )
        ended = asyncio.Event()
        guard: list[Part] = [StdinGuard(ended, grace_s=grace_s)] if with_stdin else []
        await run_parts([agent, *guard], grace_s=grace_s, until=ended, on_started=on_ready)
    finally:
        folder.release()


def build_agent(
    own: NodeSettings,
    folder: NodeFolder,
    *,
    url: str,
    engines: Iterable[Engine],
    references: Sequence[str],
    drain_s: float,
    on_registered: Callable[[Registered], Awaitable[None]],
    own_clock: Clock | None = None,
) -> NodeAgent:
    """The node of this folder. Several of them may run on one event loop, each in a folder of its own."""
    clock = ServersClock(own_clock or SystemClock())
    door = Door(url, open_identity(folder.key, clock), clock)
    duties = Duties(
        own,
        ResultStore(folder.results, most=own.node_most_results),
        ConfigCache(folder.configs, door.fetch_config, most_bytes=own.node_cache_mb * MB),
        engines=engines,
        processes=Processes(references, niceness=own.node_niceness, longest_s=own.node_longest_chunk_s),
    )
    return NodeAgent(own, door, duties, drain_s=drain_s, on_registered=on_registered)
