"""What tasks of the fleet are made of: read from the ledger once, since it belongs to them for good."""

from collections import OrderedDict
from uuid import UUID

from shoal.fleet.facts import PlanFacts, read_claim
from shoal.fleet.store import sql
from shoal.ledger.pool import Ledger

MOST_KEPT = 10_000


class FleetTasks:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._known: OrderedDict[str, PlanFacts] = OrderedDict()

    async def facts(self, task: str) -> PlanFacts | None:
        """None for what is no task that the fleet holds. A task that is tried again has another token than
        the one remembered here.
        """
        known = self._known.get(task)
        if known is not None:
            self._known.move_to_end(task)
            return known
        found = await self.read(task)
        if found is not None:
            self._known[task] = found
            if len(self._known) > MOST_KEPT:
                self._known.popitem(last=False)
        return found

    async def read(self, task: str) -> PlanFacts | None:
        """As the ledger has it now."""
        try:
            task_id = UUID(task)
        except ValueError:
            return None
        async with self._ledger.connection() as connection:
            rows = await sql.read_fleet_tasks.rows(connection, task_ids=[task_id])
        return read_claim(rows[0]).facts if rows else None
