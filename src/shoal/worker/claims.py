"""Claiming: a call whose reply was lost is repeated under the same token and returns the same rows."""

import math
import uuid
from collections.abc import Sequence

from shoal.ledger.pool import Ledger
from shoal.ledger.statements import load_statements
from shoal.worker.held import Claim

sql = load_statements("shoal.worker")


class Claims:
    def __init__(self, ledger: Ledger, *, worker_id: str, task_types: Sequence[str], lease_s: int) -> None:
        self._ledger = ledger
        self._worker_id = worker_id
        self._task_types = list(task_types)
        self._lease_s = lease_s
        self._unanswered: uuid.UUID | None = None

    async def claim(self, at_most: int) -> list[Claim]:
        repeated = self._unanswered is not None
        token = self._unanswered or uuid.uuid4()
        self._unanswered = token
        async with self._ledger.connection() as connection:
            rows = await sql.claim_tasks.rows(
                connection,
                worker_id=self._worker_id,
                max_tasks=at_most,
                task_types=self._task_types,
                lease_s=self._lease_s,
                claim_token=token,
                repeated=repeated,
            )
        self._unanswered = None
        return [Claim(token, *row) for row in rows]

    async def next_due_s(self) -> float:
        """In how many seconds there may be something to claim again; infinity when nothing is in sight."""
        async with self._ledger.connection() as connection:
            seconds = await sql.next_due.value(connection, task_types=self._task_types)
        return math.inf if seconds is None else float(seconds)
