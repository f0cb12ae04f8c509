"""What nodes may do at the beacon, and who may see them. Whoever knows the nodes is handed in.

* ``nodes:{id}`` is heard by that node alone.
* ``nodes:online`` tells every user who is online: by heartbeats, with the reply that lets them in; to look
  again, ``getOnlineNodes``. What Centrifugo calls presence knows connections, and not who works.
* ``chunks:complete`` takes results from nodes, and nobody hears it.
"""

from collections.abc import Sequence
from typing import Any, Protocol

from shoal.beacon.gate import Channel, Gate
from shoal.beacon.model import ErrorCode, Peer, Refused, Subscribed
from shoal.beacon.namespaces import CHUNKS, NODES

NODE = "node"
PORTAL = "portal"


class Nodes(Protocol):
    async def is_welcome(self, node_id: str, pubkey_hash: str) -> bool:
        """Whether this node exists, has this key, and is not revoked. Asked before everything it does."""
        ...

    async def online(self) -> Sequence[str]:
        """The ids of the nodes whose heartbeats are recent."""
        ...

    async def complete_chunk(self, node_id: str, result: Any) -> None:
        """Take a result. Raises ``Refused``."""
        ...


def open_nodes(gate: Gate, nodes: Nodes) -> None:
    async def is_welcome(user: str, meta: Any) -> bool:
        return await nodes.is_welcome(user, str(meta.get("pubkey_hash", "")))

    async def hear(peer: Peer, name: str, _data: Any) -> Subscribed:
        if name == "online" and peer.kind == PORTAL:
            return Subscribed(data=await who_is_online(peer, None))
        if peer.kind == NODE and name == peer.user:
            return Subscribed()
        raise _denied()

    async def take_result(peer: Peer, name: str, data: Any) -> None:
        if peer.kind != NODE or name != "complete":
            raise _denied()
        await nodes.complete_chunk(peer.user, data)

    async def who_is_online(peer: Peer, _data: Any) -> Any:
        if peer.kind != PORTAL:
            raise _denied()
        return {"nodes": list(await nodes.online())}

    gate.admit(NODE, is_welcome)
    gate.open("nodes", Channel(NODES, subscribe=hear))
    gate.open("chunks", Channel(CHUNKS, publish=take_result))
    gate.answer("getOnlineNodes", who_is_online)


def _denied() -> Refused:
    return Refused(ErrorCode.PERMISSION_DENIED, "permission denied")
