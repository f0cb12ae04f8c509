"""What people do with schedules, as themselves."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from shoal.ledger.connection import Connection, Row
from shoal.ledger.pool import Ledger
from shoal.runtime.cursors import decode_cursor, encode_cursor
from shoal.runtime.errors import Invalid, NotFound
from shoal.runtime.moments import in_utc
from shoal.schedules.local_time import find_zone
from shoal.schedules.recurrence import occurrences
from shoal.schedules.requests import columns_of, pattern_asked
from shoal.schedules.rules import first_occurrence, recurrence_of, upcoming
from shoal.schedules.store import pattern_of, schedule_view, sql
from shoal.wire.schedules import (
    MOST_BACKFILLED,
    AddSchedule,
    BackfillSchedule,
    PreviewSchedule,
    Ran,
    RunPage,
    RunView,
    SchedulePage,
    ScheduleView,
    Upcoming,
)

Claims = Mapping[str, object]


class Schedules:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def add(self, claims: Claims, request: AddSchedule) -> ScheduleView:
        columns = columns_of(request)
        async with self._ledger.acting_as(claims) as connection:
            now = await sql.read_clock.value(connection)
            pattern = pattern_asked(request, now=now)
            first_occurrence(pattern, after=max(pattern.start, now))
            if request.job is not None and not await sql.is_job_type.value(connection, type=request.job.type):
                raise NotFound(
                    "unknown_job_type",
                    f"There is no job type {request.job.type!r}.",
                    hint="Start a worker whose app declares it; a worker registers its types when it starts.",
                )
            schedule_id = await sql.add_schedule.value(
                connection,
                schedule=columns,
                host_id=request.user_id,
                on_conflict=request.on_conflict,
            )
            return schedule_view(await _row(connection, schedule_id))

    async def read(self, claims: Claims, schedule_id: UUID) -> ScheduleView:
        async with self._ledger.acting_as(claims) as connection:
            return schedule_view(await _row(connection, schedule_id))

    async def list(
        self,
        claims: Claims,
        *,
        name: str | None = None,
        status: str | None = None,
        cursor: str | None = None,
        page_size: int = 50,
    ) -> SchedulePage:
        after = decode_cursor(cursor, tuple[str, UUID]) if cursor else (None, None)
        async with self._ledger.acting_as(claims) as connection:
            rows = await sql.list_schedules.rows(
                connection,
                name=name,
                status=status,
                after_name=after[0],
                after_id=after[1],
                page_size=page_size + 1,
            )
        page = rows[:page_size]
        more = len(rows) > page_size
        return SchedulePage(
            schedules=[schedule_view(row) for row in page],
            next=encode_cursor((page[-1]["schedule_name"], page[-1]["schedule_id"])) if more else None,
        )

    async def pause(self, claims: Claims, schedule_id: UUID, reason: str) -> ScheduleView:
        async with self._ledger.acting_as(claims) as connection:
            await sql.pause_schedule.run(connection, schedule_id=schedule_id, reason=reason)
            return schedule_view(await _row(connection, schedule_id))

    async def resume(self, claims: Claims, schedule_id: UUID) -> ScheduleView:
        async with self._ledger.acting_as(claims) as connection:
            await sql.resume_schedule.run(connection, schedule_id=schedule_id)
            return schedule_view(await _row(connection, schedule_id))

    async def delete(self, claims: Claims, schedule_id: UUID) -> None:
        async with self._ledger.acting_as(claims) as connection:
            await sql.delete_schedule.run(connection, schedule_id=schedule_id)

    async def run(self, claims: Claims, schedule_id: UUID, at: datetime | None) -> Ran:
        """Run it once more: now, or as if it were another moment."""
        moment = in_utc(at)
        return await self._run(claims, schedule_id, None if moment is None else [moment], "manual")

    async def backfill(self, claims: Claims, schedule_id: UUID, request: BackfillSchedule) -> Ran:
        """Run the occurrences of a stretch of time, also of one before anybody knew the schedule."""
        first, last = in_utc(request.first), in_utc(request.last)
        if first is None or last is None or last < first:
            raise Invalid("invalid_backfill", "The stretch ends before it begins.")
        async with self._ledger.acting_as(claims) as connection:
            row = await _row(connection, schedule_id)
        found = occurrences(
            recurrence_of(pattern_of(row)), first=first, last=last, at_most=MOST_BACKFILLED + 1
        )
        if len(found) > MOST_BACKFILLED:
            raise Invalid(
                "backfill_too_long",
                f"There are more than {MOST_BACKFILLED:,} occurrences in it.",
                hint="Fill in a shorter stretch, then the next.",
            )
        if not found:
            return Ran(0)
        return await self._run(claims, schedule_id, found, "backfill")

    async def list_runs(
        self, claims: Claims, schedule_id: UUID, *, cursor: str | None = None, page_size: int = 50
    ) -> RunPage:
        before = decode_cursor(cursor, tuple[datetime, str]) if cursor else (None, None)
        async with self._ledger.acting_as(claims) as connection:
            await _row(connection, schedule_id)
            rows = await sql.list_runs.rows(
                connection,
                schedule_id=schedule_id,
                before_at=before[0],
                before_kind=before[1],
                page_size=page_size + 1,
            )
        page = rows[:page_size]
        more = len(rows) > page_size
        return RunPage(
            runs=[_run_view(row) for row in page],
            next=encode_cursor((page[-1]["fire_ts"], page[-1]["kind"])) if more else None,
        )

    async def preview(self, request: PreviewSchedule) -> Upcoming:
        """When something would run that nobody has added."""
        async with self._ledger.connection() as connection:
            now = await sql.read_clock.value(connection)
        after = in_utc(request.after) or now
        pattern = pattern_asked(request, now=after)
        zone = find_zone(pattern.zone)
        return Upcoming(
            [moment.astimezone(zone) for moment in upcoming(pattern, after=after, count=request.count)]
        )

    async def upcoming(self, claims: Claims, schedule_id: UUID, count: int) -> Upcoming:
        """The next occurrences of a schedule, whether or not it is paused."""
        async with self._ledger.acting_as(claims) as connection:
            row = await _row(connection, schedule_id)
            now = await sql.read_clock.value(connection)
        pattern = pattern_of(row)
        zone = find_zone(pattern.zone)
        return Upcoming([moment.astimezone(zone) for moment in upcoming(pattern, after=now, count=count)])

    async def _run(
        self, claims: Claims, schedule_id: UUID, moments: Sequence[datetime] | None, kind: str
    ) -> Ran:
        async with self._ledger.acting_as(claims) as connection:
            return Ran(
                await sql.run_schedule.value(connection, schedule_id=schedule_id, fire_ts=moments, kind=kind)
            )


async def _row(connection: Connection, schedule_id: UUID) -> Row:
    row = await sql.read_schedule.row(connection, schedule_id=schedule_id)
    if row is None:
        raise NotFound(
            "schedule_not_found",
            f"There is no schedule {schedule_id}.",
            hint="'shoal schedule list' shows the schedules you can see.",
        )
    return row


def _run_view(row: Row) -> RunView:
    return RunView(
        fire_at=row["fire_ts"],
        kind=row["kind"],
        fired_at=row["fired_at"],
        since=row["since_ts"],
        event_id=row["event_id"],
        outcome=row["outcome"],
        job_id=row["job_id"],
        error=row["error"],
    )
