"""Data sets and pushes, as operators ask for them."""

from uuid import UUID

import msgspec

from shoal.brain.connection import Brain
from shoal.ledger.connection import Row
from shoal.ledger.pool import Ledger
from shoal.ledger.statements import load_statements
from shoal.runtime.errors import NotFound
from shoal.wire.mesh import DataSets, DataSetView, MeshView, PushDataSet, Pushed, PushInput

sql = load_statements("shoal.mesh")

MOST_LISTED = 500
JOB_TYPE = "mesh.push"
LOOK = "{mesh}:look"
"""The key under which the coordinator shows what ``look`` tells."""


class MeshDesk:
    def __init__(self, ledger: Ledger, brain: Brain) -> None:
        self._ledger = ledger
        self._brain = brain

    async def list_data_sets(self) -> DataSets:
        async with self._ledger.connection() as connection:
            rows = await sql.list_data_sets.rows(connection, at_most=MOST_LISTED)
        return DataSets(data_sets=[_view(row) for row in rows])

    async def push(self, user_id: UUID, asked: PushDataSet) -> Pushed:
        """Start a job that brings the data set to the servers; it ends when they have it."""
        async with self._ledger.transaction() as connection:
            row = await sql.find_data_set.row(connection, name=asked.data_set)
            if row is None:
                raise NotFound(
                    "data_set_not_found",
                    f"There is no data set {asked.data_set!r}.",
                    hint="'shoal mesh publish' makes one, 'shoal mesh sets' lists them.",
                )
            given = PushInput(data_set_id=row["id"], to=asked.to, deadline_s=asked.deadline_s)
            task = {
                "name": "push",
                "task_type": JOB_TYPE,
                "executor": "mesh",
                "input": msgspec.to_builtins(given),
                "max_attempts": 1,
            }
            params = {"dataSet": row["name"], "to": asked.to}
            job = {"type": JOB_TYPE, "params": params, "graph": {"tasks": [task], "result": "push"}}
            job_id = await sql.push_data_set.value(connection, jobs=[job], user_id=user_id)
        return Pushed(job_id=job_id, data_set_id=row["id"])

    async def look(self) -> MeshView:
        """What the active coordinator showed last, if that is not long ago."""
        shown = await self._brain.client.get(LOOK)
        return MeshView(coordinator=None) if shown is None else msgspec.json.decode(shown, type=MeshView)


def _view(row: Row) -> DataSetView:
    return DataSetView(**{field: row[field] for field in DataSetView.__struct_fields__})
