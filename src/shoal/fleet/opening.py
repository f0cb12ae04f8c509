"""From a task in the ledger to a plan in the brain, and its first chunks to nodes.

The claim is in the ledger before there is a plan, and its token is in the plan: whoever finds a claimed task
without a plan opens it again, in the same way and under the same token.
"""

from collections.abc import Sequence
from uuid import UUID

import structlog

from shoal.fleet.brain import FleetBrain
from shoal.fleet.configs import Configs
from shoal.fleet.dispatch import Dispatch
from shoal.fleet.facts import FleetClaim, read_claim
from shoal.fleet.looks import FleetLooks
from shoal.fleet.ports import Guilds
from shoal.fleet.pushes import Pushes
from shoal.fleet.store import sql
from shoal.ledger.connection import Row
from shoal.ledger.pool import Ledger
from shoal.runtime.errors import Invalid, NotFound, ShoalError, TooLarge

log = structlog.get_logger(__name__)

MOST_PER_CLAIM = 100


class Opening:
    def __init__(
        self,
        ledger: Ledger,
        brain: FleetBrain,
        looks: FleetLooks,
        *,
        configs: Configs,
        guilds: Guilds,
        dispatch: Dispatch,
        pushes: Pushes,
    ) -> None:
        self._ledger = ledger
        self._brain = brain
        self._looks = looks
        self._configs = configs
        self._guilds = guilds
        self._dispatch = dispatch
        self._pushes = pushes

    async def claim(self) -> int:
        """Take what is ready, and hand out its chunks. How many tasks that was."""
        async with self._ledger.connection() as connection:
            rows = await sql.claim_fleet_tasks.rows(connection, max_tasks=MOST_PER_CLAIM)
        await self.open([row["task_id"] for row in rows])
        return len(rows)

    async def open(self, task_ids: Sequence[UUID]) -> None:
        """Write the plans of these tasks, those of them that are still claimed."""
        if not task_ids:
            return
        async with self._ledger.connection() as connection:
            rows = await sql.read_fleet_tasks.rows(connection, task_ids=list(task_ids))
        for row in sorted(rows, key=lambda row: (row["order_key"], row["id"])):
            try:
                await self._open(read_claim(row))
            except (Invalid, NotFound, TooLarge) as error:
                await self._refuse(row, error)

    async def _open(self, claim: FleetClaim) -> None:
        config_hash = claim.task.config_hash
        if config_hash is None:
            config_hash, _ = await self._configs.store(claim.config)
        else:
            await self._configs.require(config_hash)
        plan = claim.plan(config_hash)
        is_shared = claim.task.audience != "own"
        guilds = sorted(await self._guilds.guilds_of(plan.owner)) if is_shared else []
        answer = await self._brain.open_plan(plan, guilds)
        if answer == "OTHER_TOKEN":  # of an attempt that ended, and whose plan was not dropped
            older = (await self._looks.tokens()).get(plan.task)
            if older is not None and older != plan.token:
                await self._pushes.dropped(await self._brain.drop_plan(plan.task, older))
            answer = await self._brain.open_plan(plan, guilds)
        log.info("plan opened", task=plan.task, job=plan.job, chunks=plan.total, was_there=answer == "EXISTS")
        await self._dispatch.spread(plan.task)

    async def _refuse(self, row: Row, error: ShoalError) -> None:
        log.warning("a fleet task cannot run", task=str(row["id"]), code=error.code, error=error.message)
        async with self._ledger.connection() as connection:
            await sql.fail_fleet_task.value(
                connection,
                task_id=row["id"],
                claim_token=row["claim_token"],
                error=str(error),
                permanent=True,
            )
