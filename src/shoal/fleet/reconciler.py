"""Ledger and brain, compared both ways. The ledger is right.

The brain is read first and the ledger after it. A plan is younger than its claim, so what stands in the
brain's list and not in the ledger's has ended; and what stands in the ledger's and not in the brain's was
lost, or is being opened right now, which opening it once more does not disturb.
"""

from uuid import UUID

import structlog

from shoal.fleet.brain import FleetBrain
from shoal.fleet.looks import FleetLooks
from shoal.fleet.opening import Opening
from shoal.fleet.pushes import Pushes
from shoal.fleet.store import sql
from shoal.ledger.pool import Ledger

log = structlog.get_logger(__name__)

TOKEN_LIVES_S = 20 * 60.0
"""A node's token lives for 15 minutes, and clocks differ."""


class Reconciler:
    def __init__(
        self, ledger: Ledger, brain: FleetBrain, looks: FleetLooks, *, opening: Opening, pushes: Pushes
    ) -> None:
        self._ledger = ledger
        self._brain = brain
        self._looks = looks
        self._opening = opening
        self._pushes = pushes

    async def reconcile(self) -> tuple[int, int]:
        """How many plans were dropped, and how many opened."""
        plans = await self._looks.tokens()
        async with self._ledger.connection() as connection:
            rows = await sql.list_claimed_fleet_tasks.rows(connection)
        claimed = {str(row["id"]): row["claim_token"].hex for row in rows}
        over = {task: token for task, token in plans.items() if claimed.get(task) != token}
        for task, token in over.items():
            await self._pushes.dropped(await self._brain.drop_plan(task, token))
        lost = [UUID(task) for task, token in claimed.items() if plans.get(task) != token]
        await self._opening.open(lost)
        if over or lost:
            log.info("plans put right", dropped=len(over), opened=len(lost))
        return len(over), len(lost)

    async def revoke_again(self) -> None:
        """A brain that lost its memory learns again who may not come back while they hold a token."""
        async with self._ledger.connection() as connection:
            rows = await sql.list_revoked_nodes.rows(connection, within_s=TOKEN_LIVES_S)
        nodes = [str(row["id"]) for row in rows]
        known = await self._looks.revoked(nodes) if nodes else []
        for node, is_known in zip(nodes, known, strict=True):
            if not is_known:
                await self._brain.revoke_node(node)
