"""How the coordinator of the mesh behaves."""

from typing import Annotated

import msgspec

from shoal.runtime.settings import SECRET


class CoordinatorSettings(msgspec.Struct, frozen=True, kw_only=True):
    coordinator_listen: Annotated[
        str,
        msgspec.Meta(
            description="Where agents reach the coordinator. Empty means 127.0.0.1:8090, and a free port in "
            "'shoal up'."
        ),
    ] = ""
    mesh_secret: Annotated[
        str,
        msgspec.Meta(
            description="What tickets are signed with; the same on all coordinators, and on no agent.",
            extra=SECRET,
        ),
    ] = ""
    mesh_uploads: Annotated[
        int, msgspec.Meta(description="Shards a server gives out at a time.", ge=1, le=16)
    ] = 1
    mesh_origin_slots: Annotated[
        int, msgspec.Meta(description="Shards that leave the origin at a time.", ge=1, le=1000)
    ] = 1
    mesh_dead_after_s: Annotated[
        float, msgspec.Meta(description="Silence after which a server is taken for dead.", gt=0)
    ] = 15
    mesh_lease_s: Annotated[
        float,
        msgspec.Meta(description="A transfer that makes no progress for so long is given to another.", gt=0),
    ] = 20
    mesh_relearn_s: Annotated[
        float,
        msgspec.Meta(
            description="How long a coordinator that started listens to what the servers have, before it "
            "gives out work.",
            ge=0,
        ),
    ] = 5
    mesh_deadline_s: Annotated[
        float, msgspec.Meta(description="After so long a push is over, whoever lacks something.", gt=0)
    ] = 24 * 3600
