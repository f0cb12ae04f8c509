"""How a server takes part in the mesh."""

from pathlib import Path
from typing import Annotated

import msgspec

from shoal.runtime.settings import SECRET


class MeshAgentSettings(msgspec.Struct, frozen=True, kw_only=True):
    mesh_coordinators: Annotated[
        tuple[str, ...],
        msgspec.Meta(description="Where coordinators answer, as in 10.0.0.2:8090, with commas between them."),
    ] = ()
    mesh_token: Annotated[
        str,
        msgspec.Meta(description="What agents show to the coordinator, the same on all.", extra=SECRET),
    ] = ""
    mesh_store: Annotated[Path, msgspec.Meta(description="The folder in which an agent keeps shards.")] = (
        Path(".shoal/mesh")
    )
    mesh_into: Annotated[
        str,
        msgspec.Meta(
            description="Below this folder data sets are laid out as files; '-' lays out none, and empty "
            "is the folder data of the store."
        ),
    ] = ""
    mesh_quota_bytes: Annotated[
        int, msgspec.Meta(description="How many bytes of shards an agent keeps; 0 is no limit.", ge=0)
    ] = 0
    mesh_listen: Annotated[
        str, msgspec.Meta(description="Where an agent gives out shards; port 0 takes a free one.")
    ] = "127.0.0.1:0"
    mesh_address: Annotated[
        str,
        msgspec.Meta(
            description="Where other agents reach it, if that is another address than it listens on."
        ),
    ] = ""
    mesh_labels: Annotated[
        tuple[str, ...], msgspec.Meta(description="Labels a push may choose it by, as in gpu,rack=7.")
    ] = ()
    mesh_up_mb_s: Annotated[
        float, msgspec.Meta(description="Megabytes a second it gives to peers; 0 is no cap.", ge=0)
    ] = 0
    mesh_down_mb_s: Annotated[
        float, msgspec.Meta(description="Megabytes a second it takes, from peers and origin.", ge=0)
    ] = 0
    mesh_origin_mb_s: Annotated[
        float, msgspec.Meta(description="Megabytes a second it takes from the origin.", ge=0)
    ] = 0
    mesh_stall_s: Annotated[
        float,
        msgspec.Meta(description="A transfer from which nothing comes for so long is broken off.", gt=0),
    ] = 10
    mesh_heartbeat_s: Annotated[
        float, msgspec.Meta(description="How often an agent says that it is there.", gt=0, le=30)
    ] = 2

    @property
    def laid_out_below(self) -> Path | None:
        if self.mesh_into == "-":
            return None
        return Path(self.mesh_into).expanduser() if self.mesh_into else self.mesh_store / "data"


def bytes_per_s(megabytes: float) -> int:
    return int(megabytes * 1_000_000)
