"""What a node may use of the machine it runs on, and where it keeps what it keeps."""

import os
import platform
from pathlib import Path
from typing import Annotated

import msgspec

from shoal.wire.fleet import HEARTBEAT_S


def _default_node_dir() -> Path:
    # The XDG rules say that a relative path is to be ignored.
    base = Path(os.environ.get("XDG_DATA_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".local" / "share") / "shoal-node"


class NodeSettings(msgspec.Struct, frozen=True, kw_only=True):
    node_dir: Annotated[
        Path,
        msgspec.Meta(description="Where a node keeps its key, its results and its configs. One node each."),
    ] = msgspec.field(default_factory=_default_node_dir)
    node_name: Annotated[
        str,
        msgspec.Meta(
            description="What a node calls itself when it registers; empty means the machine's name."
        ),
    ] = ""
    node_parallel: Annotated[
        int,
        msgspec.Meta(
            description="Chunks a node computes at a time, each in a process; 0: all processors but one.",
            ge=0,
            le=1024,
        ),
    ] = 0
    node_niceness: Annotated[
        int,
        msgspec.Meta(description="How far those processes give way to others; 19 is furthest.", ge=0, le=19),
    ] = 10
    node_longest_chunk_s: Annotated[
        float, msgspec.Meta(description="How long one chunk may take before it is stopped.", gt=0)
    ] = 3600.0
    node_cache_mb: Annotated[
        int, msgspec.Meta(description="How much disk the configs of jobs may take on a node.", ge=1)
    ] = 256
    node_most_results: Annotated[
        int,
        msgspec.Meta(
            description="How many results a node keeps while no server takes them; the oldest go first.", ge=1
        ),
    ] = 1000
    node_heartbeat_s: Annotated[
        float,
        msgspec.Meta(
            description="How often a node says that it is there; a server misses it after 90 seconds.",
            ge=0.2,
            le=30,
        ),
    ] = HEARTBEAT_S
    node_beacon_url: Annotated[
        str,
        msgspec.Meta(
            description="Where a node connects for its messages, as in wss://host/connection/websocket. "
            "Empty means where the server says."
        ),
    ] = ""

    @property
    def name(self) -> str:
        return self.node_name or platform.node()[:100]

    @property
    def parallel(self) -> int:
        return self.node_parallel or max(1, (os.cpu_count() or 1) - 1)
