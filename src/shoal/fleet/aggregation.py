"""The end of a plan, in steps that may each be repeated, by anybody:

1. lock the plan; the lock ends by itself, so that nobody's death keeps it
2. make the result and write it into the ledger, fenced by the claim token
3. only then drop the plan from the brain, and tell nodes that still hold chunks of it

Whoever dies in between leaves a plan that the sweeper finds among the settled ones, or that the reconciler
finds without a claimed task.
"""

import asyncio
from contextlib import aclosing
from typing import Any
from uuid import UUID, uuid4

import msgspec
import structlog

from shoal.app.moments import Moments as ResultMoments
from shoal.app.moments import job_moments
from shoal.app.reducers import collected_values
from shoal.fleet.brain import FleetBrain
from shoal.fleet.facts import PlanFacts
from shoal.fleet.measures import FleetMeasures
from shoal.fleet.model import Full, Moments, Poisoned
from shoal.fleet.pushes import Pushes
from shoal.fleet.store import sql
from shoal.fleet.tasks import FleetTasks
from shoal.ledger.pool import Ledger
from shoal.vault.store import Vault
from shoal.wire.results import ChunkValues

log = structlog.get_logger(__name__)

LARGEST_OUTPUT = 48 * 1024
ARTIFACT = "values.json"


class Aggregation:
    def __init__(
        self,
        ledger: Ledger,
        brain: FleetBrain,
        tasks: FleetTasks,
        *,
        vault: Vault,
        pushes: Pushes,
        measures: FleetMeasures,
    ) -> None:
        self._ledger = ledger
        self._brain = brain
        self._tasks = tasks
        self._vault = vault
        self._pushes = pushes
        self._measures = measures
        self._holder = uuid4().hex
        self._finishing: dict[str, asyncio.Task[None]] = {}

    def begin(self, task: str) -> "asyncio.Task[None]":
        """Finish it, beside whatever else goes on; once at a time in this process."""
        known = self._finishing.get(task)
        if known is None:
            known = self._finishing[task] = asyncio.create_task(self._finish_and_log(task))
            known.add_done_callback(lambda _: self._finishing.pop(task, None))
        return known

    async def settle(self) -> None:
        """Finish what is left: of others, or of an attempt of ours that did not come to its end."""
        for task in await self._brain.settled():
            await self.begin(task)

    async def drain(self) -> None:
        if self._finishing:
            await asyncio.wait(list(self._finishing.values()))

    async def _finish_and_log(self, task: str) -> None:
        try:
            await self.finish(task)
        except Exception as error:  # noqa: BLE001 - the sweeper tries it again
            log.warning("a plan was not finished", task=task, error=str(error) or repr(error))

    async def finish(self, task: str) -> None:
        facts = await self._tasks.read(task)
        if facts is None:  # it has ended: the reconciler drops the plan
            return
        locked = await self._brain.lock_plan(task, self._holder)
        if isinstance(locked, Full) and locked.token == facts.token:
            verdict = await self._complete(facts, locked)
        elif isinstance(locked, Poisoned):
            verdict = await self._end(
                facts, f"Chunk {locked.index} failed wherever it was tried. {locked.reason}".rstrip()
            )
        else:
            return
        await self._pushes.dropped(await self._brain.drop_plan(task, facts.token))
        self._measures.aggregated.inc()
        self._measures.job_took(facts.age_s)
        log.info("plan finished", task=task, job=facts.job, verdict=verdict)

    async def _complete(self, facts: PlanFacts, full: Full) -> str:
        if facts.reducer == "collect":
            output = await self._collect(facts)
        else:
            if full.moments.count != facts.iterations:
                return await self._end(
                    facts, f"{full.moments.count} iterations were counted, not {facts.iterations}."
                )
            output = msgspec.to_builtins(job_moments(_as_result(full.moments)))
        async with self._ledger.connection() as connection:
            verdict = await sql.complete_fleet_task.value(
                connection, task_id=UUID(facts.task), claim_token=UUID(facts.token), output=output
            )
        if facts.reducer == "collect":
            await self._delete_parts(facts)
        return str(verdict or "completed")

    async def _end(self, facts: PlanFacts, error: str) -> str:
        async with self._ledger.connection() as connection:
            return str(
                await sql.fail_fleet_task.value(
                    connection,
                    task_id=UUID(facts.task),
                    claim_token=UUID(facts.token),
                    error=error.replace("\0", ""),
                    permanent=True,
                )
            )

    async def _collect(self, facts: PlanFacts) -> Any:
        where = await self._brain.results(facts.task)
        results = {}
        for index, key in where.items():
            results[index * facts.size] = msgspec.json.decode(await self._read(key), type=ChunkValues)
        result = collected_values(results)
        text = msgspec.json.encode(result)
        if len(text) <= LARGEST_OUTPUT:
            return msgspec.to_builtins(result)
        key = f"{facts.folder.replace('/chunks/', '/json/')}/{ARTIFACT}"
        stored = await self._vault.put(key, text, content_type="application/json")
        row = {
            "name": ARTIFACT,
            "artifact_type": "json",
            "storage_path": key,
            "content_type": "application/json",
            "file_size_bytes": stored.size,
            "sha256": stored.sha256,
        }
        async with self._ledger.connection() as connection:
            await sql.add_fleet_artifact.value(
                connection, task_id=UUID(facts.task), claim_token=UUID(facts.token), artifacts=[row]
            )
        return {"artifact": ARTIFACT, "totalIterations": result.total_iterations}

    async def _read(self, key: str) -> bytes:
        async with aclosing(self._vault.get(key)) as blocks:
            return b"".join([block async for block in blocks])

    async def _delete_parts(self, facts: PlanFacts) -> None:
        keys = [found.key async for found in self._vault.list(facts.folder)]
        if keys:
            await self._vault.delete(keys)


def _as_result(moments: Moments) -> ResultMoments:
    return ResultMoments(moments.count, moments.mean, moments.m2, moments.least, moments.most)
