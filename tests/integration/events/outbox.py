"""What relays do in the ledger, one statement at a time."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field

from shoal.ledger.connection import Connection, Row

APPEND = "SELECT shoal.append_events('thing', $1, $2, $3)"
TAKE = "SELECT * FROM shoal.take_events($1, $2, $3, $4, $5)"
ADVANCE = "SELECT * FROM shoal.advance_cursors($1, $2, $3, $4, $5)"
FAIL = "SELECT shoal.fail_event($1, $2, $3, $4, $5, $6, $7)"
ADD_SINK = "SELECT shoal.add_sink($1, $2, $3)"


@dataclass
class Teller:
    """Somebody who tells a sink: takes a turn, and moves the cursors of what it took."""

    connection: Connection
    sink: str = "all"
    token: uuid.UUID = field(default_factory=uuid.uuid4)

    async def add(self, *patterns: str, kind: str = "consumer") -> "Teller":
        await self.connection.execute(ADD_SINK, self.sink, kind, list(patterns or ["*"]))
        return self

    async def append(self, *notes: str, aggregate: str = "a") -> None:
        """Events of one aggregate, each with a note by which it is known again."""
        payloads = [{"note": note} for note in notes]
        await self.connection.execute(APPEND, [aggregate] * len(notes), ["thing.done"] * len(notes), payloads)

    async def order(self) -> int:
        return int(await self.connection.fetchval("SELECT shoal.order_outbox()"))

    async def take(self, *, partitions: int = 16, at_most: int = 100, lease_s: float = 30) -> Sequence[Row]:
        self.token = uuid.uuid4()
        return await self.connection.fetch(TAKE, self.sink, self.token, lease_s, partitions, at_most)

    async def advance(self, rows: Sequence[Row], *, done: bool = True) -> list[int]:
        told = {row["partition"]: row["up_to"] for row in rows}
        moved = await self.connection.fetch(
            ADVANCE, self.sink, self.token, list(told), list(told.values()), done
        )
        return sorted(row[0] for row in moved)

    async def fail(self, row: Row, kind: str, error: str = "no") -> str:
        place = row["partition"], row["position"], row["event_id"]
        return str(await self.connection.fetchval(FAIL, self.sink, self.token, *place, kind, error))

    async def tell(self) -> list[str]:
        """One whole turn; the notes of what was told."""
        await self.order()
        rows = await self.take()
        await self.advance(rows)
        return notes(rows)

    async def forget_pauses(self) -> None:
        await self.connection.execute("UPDATE consumer_offset_t SET retry_at = NULL")


def notes(rows: Sequence[Row]) -> list[str]:
    return [row["payload"]["note"] for row in rows if row["event_id"] is not None]
