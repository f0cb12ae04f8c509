"""The channels there are: what each namespace keeps, and what a client may ask for at all.

The rooms decide who may (they open the same namespaces at the ``Gate``); ``shoal beacon config`` writes
these into Centrifugo's configuration. Nobody may ask for presence or history: who is online is what
heartbeats say, and what was said is read where it is true.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from shoal.beacon.model import ChannelOptions


@dataclass(frozen=True, slots=True)
class Namespace:
    options: ChannelOptions
    subscribe: bool = False
    publish: bool = False


NODES = ChannelOptions(history_size=10, history_ttl_s=60, recovery=True)
JOBS = ChannelOptions(history_size=100, history_ttl_s=600, recovery=True)
CHUNKS = ChannelOptions()
EVENTS = ChannelOptions()

NAMESPACES: Mapping[str, Namespace] = {
    "nodes": Namespace(NODES, subscribe=True),
    "jobs": Namespace(JOBS, subscribe=True),
    "chunks": Namespace(CHUNKS, publish=True),
    "events": Namespace(EVENTS, subscribe=True),
}
