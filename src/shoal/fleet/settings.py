"""What the door for nodes lets through."""

from typing import Annotated

import msgspec


class FleetSettings(msgspec.Struct, frozen=True, kw_only=True):
    node_connections_per_minute: Annotated[
        int,
        msgspec.Meta(
            description="How often one address may register a node, get a token, or open a live connection "
            "in a minute, each. 0 is any number; from this machine it always is.",
            ge=0,
        ),
    ] = 10
    fleet_silence_s: Annotated[
        float,
        msgspec.Meta(
            description="A node that is not heard for so many seconds loses its chunks to others. Nodes "
            "send a heartbeat every 20 s.",
            ge=1,
            le=3600,
        ),
    ] = 90.0
    fleet_stall_s: Annotated[
        float,
        msgspec.Meta(
            description="A chunk that does not move for so many seconds on a node that lives goes to others.",
            ge=1,
            le=86400,
        ),
    ] = 300.0
    node_address_header: Annotated[
        str,
        msgspec.Meta(
            description="Behind a load balancer: the header in which it says who is asking, as "
            "X-Forwarded-For; its last entry counts. Empty means the address the connection comes from."
        ),
    ] = ""
