"""What holds back types of tasks, over all workers together. For operators: here the service acts."""

from shoal.jobs.store import sql
from shoal.ledger.connection import Connection
from shoal.ledger.pool import Ledger
from shoal.wire.types import LimitTaskType, TaskTypes, TaskTypeView

AS_SERVICE = {"role": "service_role"}


class TaskTypeControl:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def list(self) -> TaskTypes:
        async with self._ledger.acting_as(AS_SERVICE) as connection:
            rows = await sql.list_task_types.rows(connection, task_type=None)
        return TaskTypes([TaskTypeView(**row) for row in rows])

    async def limit(self, task_type: str, limit: LimitTaskType) -> TaskTypeView:
        async with self._ledger.acting_as(AS_SERVICE) as connection:
            await sql.limit_task_type.run(
                connection,
                task_type=task_type,
                max_running=limit.max_running,
                rate_per_s=limit.rate_per_s,
                burst=limit.burst,
            )
            return await _read(connection, task_type)

    async def pause(self, task_type: str, reason: str) -> TaskTypeView:
        async with self._ledger.acting_as(AS_SERVICE) as connection:
            await sql.pause_task_type.run(connection, task_type=task_type, reason=reason)
            return await _read(connection, task_type)

    async def resume(self, task_type: str) -> TaskTypeView:
        async with self._ledger.acting_as(AS_SERVICE) as connection:
            await sql.resume_task_type.run(connection, task_type=task_type)
            return await _read(connection, task_type)


async def _read(connection: Connection, task_type: str) -> TaskTypeView:
    row = await sql.list_task_types.row(connection, task_type=task_type)
    if row is None:  # nothing waits, nothing runs, nothing holds it back
        return TaskTypeView(task_type, 0, 0, None, None, None, None)
    return TaskTypeView(**row)
