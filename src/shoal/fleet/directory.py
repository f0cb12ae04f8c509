"""Who the nodes are: read from the ledger in batches, and who of them may be here.

A node's key never changes, so it is remembered; whether it was revoked is asked again every second, of the
brain, which every handler of a node needs anyway. A brain that lost the set is given it again from the
ledger, for as long as a token may live.
"""

import time
from collections.abc import Sequence
from uuid import UUID

from shoal.fleet.facts import NodeFacts, read_node
from shoal.fleet.looks import FleetLooks
from shoal.fleet.store import sql
from shoal.ledger.pool import Ledger
from shoal.runtime.batches import Batches

MOST_KEYS = 100_000
WELCOME_S = 0.9
MOST_PER_READ = 500


class NodeDirectory:
    def __init__(self, ledger: Ledger, looks: FleetLooks) -> None:
        self._ledger = ledger
        self._looks = looks
        self._keys: dict[str, str] = {}
        self._welcome: dict[str, float] = {}
        self._reads: Batches[str, NodeFacts | None] = Batches(self._read, limit=MOST_PER_READ)
        self._questions: Batches[str, bool] = Batches(self._looks.revoked, limit=MOST_PER_READ)

    async def facts(self, node_id: str) -> NodeFacts | None:
        """What the ledger says now. None for a node that is not there."""
        return await self._reads.submit(node_id) if _is_uuid(node_id) else None

    async def is_welcome(self, node_id: str, pubkey_hash: str) -> bool:
        if self._keys.get(node_id) != pubkey_hash and not await self._is_known(node_id, pubkey_hash):
            return False
        now = time.monotonic()
        if self._welcome.get(node_id, 0.0) > now:
            return True
        if await self._questions.submit(node_id):
            self.forget(node_id)
            return False
        self._welcome[node_id] = now + WELCOME_S
        return True

    def forget(self, node_id: str) -> None:
        """Ask everything about it anew."""
        self._keys.pop(node_id, None)
        self._welcome.pop(node_id, None)

    async def _is_known(self, node_id: str, pubkey_hash: str) -> bool:
        node = await self.facts(node_id)
        if node is None or node.is_revoked or node.key_hash != pubkey_hash:
            return False
        if len(self._keys) >= MOST_KEYS:
            self._keys.clear()
            self._welcome.clear()
        self._keys[node_id] = pubkey_hash
        return True

    async def _read(self, node_ids: Sequence[str]) -> list[NodeFacts | None]:
        async with self._ledger.connection() as connection:
            rows = await sql.read_node_facts.rows(connection, node_ids=[UUID(one) for one in set(node_ids)])
        found = {node.id: node for node in map(read_node, rows)}
        return [found.get(one) for one in node_ids]


def _is_uuid(text: str) -> bool:
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False
