"""Reporting: how tasks ended goes to the ledger in batches, again and again until it is durable.

Repeating is safe, since every report names its claim: the second copy of a completion changes nothing
and is answered as a success, a report that comes too late is answered ``lease_lost``.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar

import asyncpg
import structlog

from shoal.ledger.connection import REPEATABLE, Row
from shoal.ledger.pool import Ledger
from shoal.ledger.text import storable
from shoal.runtime.batches import Batches
from shoal.runtime.errors import ShoalError, Unavailable
from shoal.worker.claims import sql
from shoal.worker.held import Claim, Held
from shoal.worker.lines import last_lines_of, send_lines
from shoal.worker.meaning import Meaning

log = structlog.get_logger(__name__)

LARGEST_BATCH = 1000
MOST_PLANNED = 1_000_000
FIRST_RETRY_S = 0.1
LONGEST_RETRY_S = 5.0

Answer = TypeVar("Answer")
Ended = TypeVar("Ended", bound="Completion | Plan")


class Completion(NamedTuple):
    """``output`` is written JSON."""

    claim: Claim
    output: str | None


class Plan(NamedTuple):
    """``graph`` is written JSON."""

    claim: Claim
    graph: str


class Failure(NamedTuple):
    claim: Claim
    error: str
    permanent: bool = False
    retry_after_s: float | None = None
    code: str = "error"


class Snoozed(NamedTuple):
    """To be run again later; nothing has failed."""

    claim: Claim
    after_s: float


Report = Completion | Plan | Failure | Snoozed


def report_of(claim: Claim, meaning: Meaning) -> Failure | Snoozed:
    if meaning.snooze_s is not None:
        return Snoozed(claim, meaning.snooze_s)
    return Failure(claim, meaning.text, meaning.permanent, meaning.retry_after_s, meaning.code)


def code_of(report: Report) -> str:
    """Why it failed, if it did: an output or a plan can be refused after the task has ended well."""
    if isinstance(report, Failure):
        return report.code
    return "refused" if isinstance(report, Plan) else "output_refused"


class Reports:
    def __init__(self, ledger: Ledger, *, worker_id: str) -> None:
        self._ledger = ledger
        self._worker_id = worker_id
        self._completions = Batches(self._send_completions, limit=LARGEST_BATCH)
        self._plans = Batches(self._send_plans, limit=LARGEST_BATCH)
        self._failures = Batches(self._send_failures, limit=LARGEST_BATCH)
        self._snoozes = Batches(self._send_snoozes, limit=LARGEST_BATCH)

    async def send(self, report: Report) -> str:
        """The ledger's verdict, once it is durable."""
        match report:
            case Completion():
                return await self._completions.submit(report)
            case Plan():
                return await self._plans.submit(report)
            case Failure():
                return await self._failures.submit(report)
            case Snoozed():
                return await self._snoozes.submit(report)

    async def add_artifacts(self, claim: Claim, artifacts: list[dict[str, object]]) -> bool:
        async def send() -> bool:
            async with self._ledger.connection() as connection:
                return bool(
                    await sql.add_artifacts.value(
                        connection,
                        worker_id=self._worker_id,
                        task_id=claim.task_id,
                        claim_token=claim.token,
                        artifacts=artifacts,
                    )
                )

        return await until_answered(send)

    async def keep_lines(self, held: Held) -> None:
        """Send what the task wrote and was not sent yet, while its claim still counts."""
        async with last_lines_of(held) as lines:

            async def send() -> None:
                async with self._ledger.connection() as connection:
                    await send_lines(connection, self._worker_id, lines)

            if lines:
                await until_answered(send)

    async def release(self, claims: Sequence[Claim]) -> int:
        """Hand back what was not finished. Not repeated: the lease runs out by itself."""
        async with self._ledger.connection() as connection:
            released = await sql.release_tasks.value(
                connection,
                worker_id=self._worker_id,
                task_ids=[claim.task_id for claim in claims],
                claim_tokens=[claim.token for claim in claims],
            )
        return int(released)

    async def _send_completions(self, batch: Sequence[Completion]) -> list[str]:
        async def send(some: Sequence[Completion]) -> list[str]:
            async with self._ledger.connection() as connection:
                rows = await sql.complete_tasks.rows(
                    connection,
                    worker_id=self._worker_id,
                    task_ids=[one.claim.task_id for one in some],
                    claim_tokens=[one.claim.token for one in some],
                    outputs=[one.output for one in some],
                )
            return _completed_unless(some, rows)

        return await self._spoiling_no_other(batch, send)

    async def _send_plans(self, batch: Sequence[Plan]) -> list[str]:
        async def send(some: Sequence[Plan]) -> list[str]:
            async with self._ledger.connection() as connection:
                rows = await sql.plan_jobs.rows(
                    connection,
                    worker_id=self._worker_id,
                    task_ids=[one.claim.task_id for one in some],
                    claim_tokens=[one.claim.token for one in some],
                    graphs=[one.graph for one in some],
                )
            return _completed_unless(some, rows)

        answers: list[str] = []
        for some in _of_bearable_size(batch):
            answers += await self._spoiling_no_other(some, send)
        return answers

    async def _spoiling_no_other(
        self, batch: Sequence[Ended], send: Callable[[Sequence[Ended]], Awaitable[list[str]]]
    ) -> list[str]:
        """Send all at once; when the ledger refuses that, by halves, until what it refuses stands alone."""
        try:
            return await until_answered(lambda: send(batch))
        except (asyncpg.DataError, asyncpg.IntegrityConstraintViolationError, ShoalError) as error:
            if half := len(batch) // 2:
                first = await self._spoiling_no_other(batch[:half], send)
                return [*first, *await self._spoiling_no_other(batch[half:], send)]
            code = error.code if isinstance(error, ShoalError) else "output_refused"
            return [await self.send(Failure(batch[0].claim, f"{code}: {error}", permanent=True))]

    async def _send_failures(self, batch: Sequence[Failure]) -> list[str]:
        async def send() -> list[str]:
            async with self._ledger.connection() as connection:
                rows = await sql.fail_tasks.rows(
                    connection,
                    worker_id=self._worker_id,
                    task_ids=[one.claim.task_id for one in batch],
                    claim_tokens=[one.claim.token for one in batch],
                    errors=[storable(one.error) for one in batch],
                    permanent=[one.permanent for one in batch],
                    retry_after_s=[one.retry_after_s for one in batch],
                )
            return _in_order(batch, rows)

        return await until_answered(send)

    async def _send_snoozes(self, batch: Sequence[Snoozed]) -> list[str]:
        async def send() -> list[str]:
            async with self._ledger.connection() as connection:
                rows = await sql.snooze_tasks.rows(
                    connection,
                    worker_id=self._worker_id,
                    task_ids=[one.claim.task_id for one in batch],
                    claim_tokens=[one.claim.token for one in batch],
                    after_s=[one.after_s for one in batch],
                )
            return _in_order(batch, rows)

        return await until_answered(send)


def _completed_unless(batch: Sequence[Completion | Plan], rows: Sequence[Row]) -> list[str]:
    """The ledger names only those of which something else is to be said."""
    verdicts = {row["task_id"]: row["verdict"] for row in rows}
    return [verdicts.get(one.claim.task_id, "completed") for one in batch]


def _of_bearable_size(batch: Sequence[Plan]) -> Iterator[Sequence[Plan]]:
    """Plans that go together: none waits for the thousands of tasks of another."""
    begins, size = 0, 0
    for at, one in enumerate(batch):
        if at > begins and size + len(one.graph) > MOST_PLANNED:
            yield batch[begins:at]
            begins, size = at, 0
        size += len(one.graph)
    yield batch[begins:]


def _in_order(batch: Sequence[Failure | Snoozed], rows: Sequence[Row]) -> list[str]:
    verdicts = {row["task_id"]: row["verdict"] for row in rows}
    return [verdicts[one.claim.task_id] for one in batch]


async def until_answered(send: Callable[[], Awaitable[Answer]]) -> Answer:
    """Repeat a call while the ledger is away, or when it lost a race. Every other error is the caller's."""
    delay = FIRST_RETRY_S
    while True:
        try:
            return await send()
        except (*REPEATABLE, Unavailable) as error:
            log.warning("the ledger does not answer", error=str(error), retry_in_s=round(delay, 1))
        await asyncio.sleep(delay * random.uniform(0.5, 1.0))  # noqa: S311 - jitter
        delay = min(delay * 2, LONGEST_RETRY_S)
