"""Firing what is due: read a batch, plan it, and write what was planned in one statement.

Nothing is held between the reading and the writing: a schedule that was changed, or fired by another, in
between is not as it was read, and is left out. What cannot be planned or written is parked alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import asyncpg
import structlog

from shoal.ledger.connection import REPEATABLE, Row
from shoal.ledger.pool import Ledger
from shoal.runtime.errors import ShoalError
from shoal.schedules.model import Due, Plan, Term
from shoal.schedules.rules import plan
from shoal.schedules.store import due_of, sql

log = structlog.get_logger(__name__)

# The fault of what a schedule holds: data that is malformed or over a limit, and refusals of our own.
ITS_OWN_FAULT = (
    asyncpg.DataError,
    asyncpg.IntegrityConstraintViolationError,
    asyncpg.ProgramLimitExceededError,
    ShoalError,
)

Planned = tuple[Due, Plan]


class NotLeadingError(Exception):
    """The ledger knows another leader: nothing was fired."""


@dataclass
class Fired:
    """What one turn did. ``lateness_s`` is that of the schedule that waited longest."""

    schedules: int = 0
    runs: int = 0
    parked: int = 0
    lateness_s: float = 0.0


class Firing:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def fire(self, term: Term, rows: Sequence[Row]) -> Fired:
        """Fire these due schedules, all at once where that works."""
        fired = Fired()
        planned: list[Planned] = []
        for row in rows:
            due = due_of(row)
            try:
                planned.append((due, plan(due, now=row["now"])))
            except Exception as error:  # noqa: BLE001 - whatever is wrong with one is no reason to stop the others
                await self._park(due, error, fired)
        if rows:
            fired.lateness_s = max((row["now"] - row["next_run_ts"]).total_seconds() for row in rows)
        await self._write(term, planned, fired)
        return fired

    async def _write(self, term: Term, planned: Sequence[Planned], fired: Fired) -> None:
        """In one statement; when something in it is wrong, its halves, until what is wrong is alone."""
        if not planned:
            return
        try:
            row = await self._write_at_once(term, planned)
        except REPEATABLE:
            raise
        except ITS_OWN_FAULT as error:
            if len(planned) == 1:
                await self._park(planned[0][0], error, fired)
                return
            half = len(planned) // 2
            await self._write(term, planned[:half], fired)
            await self._write(term, planned[half:], fired)
            return
        fired.schedules += row["moved"]
        fired.runs += row["runs"]

    async def _write_at_once(self, term: Term, planned: Sequence[Planned]) -> Row:
        run_ids, fire_ts = [], []
        since: list[datetime | None] = []
        for due, one in planned:
            for number, occurrence in enumerate(one.fires):
                run_ids.append(due.id)
                fire_ts.append(occurrence)
                since.append(None if number else one.since)
        async with self._ledger.connection() as connection:
            row = await sql.fire_schedules.row(
                connection,
                instance_id=term.instance,
                elected_at=term.elected_at,
                schedule_ids=[due.id for due, _ in planned],
                versions=[due.version for due, _ in planned],
                seen=[due.due for due, _ in planned],
                next_fires=[one.next_occurrence for _, one in planned],
                next_runs=[one.next_due for _, one in planned],
                runs=[len(one.fires) for _, one in planned],
                run_ids=run_ids,
                fire_ts=fire_ts,
                since=since,
            )
        if row is None or row["moved"] is None:
            raise NotLeadingError
        return row

    async def _park(self, due: Due, error: Exception, fired: Fired) -> None:
        reason = str(error) or type(error).__name__
        async with self._ledger.connection() as connection:
            if await sql.park_schedule.value(
                connection, schedule_id=due.id, version=due.version, error=reason
            ):
                fired.parked += 1
                log.warning("a schedule cannot be fired and was parked", schedule=str(due.id), error=reason)
