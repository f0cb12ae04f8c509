"""Grants follow what changed: the guilds of an owner, and what owners set for their nodes."""

from collections.abc import Collection

from shoal.fleet.brain import FleetBrain
from shoal.fleet.directory import NodeDirectory
from shoal.fleet.dispatch import Dispatch
from shoal.fleet.facts import NodeFacts
from shoal.fleet.looks import FleetLooks
from shoal.fleet.pushes import Pushes


class Grants:
    def __init__(
        self,
        brain: FleetBrain,
        looks: FleetLooks,
        *,
        directory: NodeDirectory,
        dispatch: Dispatch,
        pushes: Pushes,
    ) -> None:
        self._brain = brain
        self._looks = looks
        self._directory = directory
        self._dispatch = dispatch
        self._pushes = pushes

    async def owners_with_plans(self) -> list[str]:
        """Whose guilds matter now."""
        return await self._looks.owners_with_plans()

    async def change_grants(self, owner: str, guilds: Collection[str]) -> None:
        """The owner is in these guilds now: nodes lose what they may no longer run, and others get it."""
        lost = await self._brain.change_grants(owner, sorted(set(guilds)))
        await self._pushes.dropped(lost)
        for task in {chunk.split(".", 1)[0] for _, chunk in lost}:
            await self._dispatch.spread(task)

    async def apply_node(self, node_id: str) -> None:
        """What the ledger says of the node now decides from here on, and the node hears of it."""
        node = await self.reapply_node(node_id)
        if node is not None:
            await self._pushes.configured(node)
            await self._dispatch.serve([node_id])

    async def reapply_node(self, node_id: str) -> NodeFacts | None:
        """The same without a word to the node, unless it loses something. None for one that is not here."""
        node = await self._directory.facts(node_id)
        if node is None or node.is_revoked:
            await self._brain.revoke_node(node_id)
            await self._pushes.cut(node_id)
            return None
        answer = await self._brain.admit_node(node.rights, present=False)
        if isinstance(answer, str):
            return None
        await self._pushes.dropped([(node_id, chunk) for chunk in answer[1]])
        return node
