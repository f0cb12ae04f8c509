"""Schedules as a test wants them, and turns of a scheduler on them, one at a time."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from shoal.ledger.connection import Connection, Row
from shoal.ledger.pool import Ledger
from shoal.schedules.firing import Fired, Firing
from shoal.schedules.model import Term
from shoal.schedules.store import sql

OWNER = UUID("00000000-0000-4000-8000-0000000000aa")
LEASE_S = 15.0

# How long ago, by the clock of the database: "owes" moves a schedule into the past.
OWE = """
UPDATE schedule_t SET start_ts = start_ts - $2::interval, next_fire_ts = next_run_ts - $2::interval,
       next_run_ts = next_run_ts - $2::interval WHERE schedule_id = $1
"""


class Timetable:
    def __init__(self, ledger: Ledger, connection: Connection) -> None:
        self.ledger = ledger
        self.connection = connection
        self.firing = Firing(ledger)

    async def add(self, *, owes: timedelta | None = None, host: UUID = OWNER, **columns: Any) -> UUID:
        """A schedule of every minute that emits an event, unless said otherwise. One that ``owes`` has been
        due since then.
        """
        given = {
            "schedule_name": f"schedule {uuid4().hex}",
            "frequency_unit": "MINUTES",
            "event_type": "user.tick",
            **columns,
        }
        schedule_id: UUID = await self.connection.fetchval("SELECT add_schedule($1, $2)", given, host)
        await self.connection.execute(OWE, schedule_id, owes or timedelta(0))
        return schedule_id

    async def insert(self, **columns: Any) -> UUID:
        """A row as a client writes it that was made from the seed, with these columns."""
        known = {
            "schedule_id": uuid4(),
            "host_id": OWNER,
            "schedule_name": f"schedule {uuid4().hex}",
            "frequency_unit": "MINUTES",
            "frequency_time": 1,
            "start_ts": datetime(2026, 1, 1, tzinfo=UTC),
            "next_run_ts": datetime(2026, 1, 1, tzinfo=UTC),
            "event_topic": "user",
            "event_type": "user.tick",
            "event_data": "{}",
            **columns,
        }
        numbers = ", ".join(f"${number}" for number in range(1, len(known) + 1))
        await self.connection.execute(
            f"INSERT INTO schedule_t ({', '.join(known)}) VALUES ({numbers})",  # noqa: S608 - names of ours
            *known.values(),
        )
        return UUID(str(known["schedule_id"]))

    async def lead(self, instance: str = "ann") -> Term:
        """Begin a term, whoever led before."""
        await self.connection.execute("UPDATE scheduler_lock_t SET last_heartbeat = '-infinity'")
        row = await sql.elect_scheduler.row(self.connection, instance_id=instance, lease_s=LEASE_S)
        assert row is not None
        assert row["elected_at"] is not None
        return Term(instance, row["elected_at"])

    async def due(self, at_most: int = 1000) -> list[Row]:
        return await sql.find_due.rows(self.connection, at_most=at_most)

    async def turn(self, term: Term | None = None, rows: Sequence[Row] | None = None) -> Fired:
        """Fire what is due, or what was read before."""
        term = term or await self.lead()
        return await self.firing.fire(term, await self.due() if rows is None else rows)

    async def drain(self, term: Term | None = None) -> int:
        """Fire until nothing is due; returns how many runs that made."""
        term = term or await self.lead()
        runs = 0
        while rows := await self.due():
            runs += (await self.turn(term, rows)).runs
        return runs

    async def schedule(self, schedule_id: UUID) -> Row:
        (row,) = await self.connection.fetch("SELECT * FROM schedule_t WHERE schedule_id = $1", schedule_id)
        found: Row = row
        return found

    async def runs(self, schedule_id: UUID) -> list[Row]:
        return await self.connection.fetch(
            "SELECT * FROM schedule_fires WHERE schedule_id = $1 ORDER BY fire_ts, kind", schedule_id
        )

    async def events(self, schedule_id: UUID) -> list[Row]:
        """In the order in which they were appended."""
        return await self.connection.fetch(
            "SELECT * FROM event_store_t WHERE aggregate_id = $1 ORDER BY tx, seq", str(schedule_id)
        )

    async def told(self, schedule_id: UUID) -> list[str]:
        return [row["event_type"] for row in await self.events(schedule_id)]

    async def now(self) -> datetime:
        found: datetime = await self.connection.fetchval("SELECT clock_timestamp()")
        return found
