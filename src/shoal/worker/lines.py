"""The lines that tasks wrote, on their way to the ledger: all of them, once, and in their order."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

from shoal.app.task_log import LogLine
from shoal.ledger.connection import Connection
from shoal.ledger.text import storable
from shoal.worker.claims import sql
from shoal.worker.held import Claim, Held

LOOK_AGAIN_S = 0.005


@dataclass(frozen=True)
class ClaimLine:
    claim: Claim
    line: LogLine


@contextmanager
def lines_of(held: Iterable[Held]) -> Iterator[list[ClaimLine]]:
    """What they wrote and nobody is sending yet. What is done with it counts unless it raises."""
    sending = [
        one for one in held if one.context.used("log") and one.context.log.sending.acquire(blocking=False)
    ]
    taken = [(one, one.context.log.take()) for one in sending]
    try:
        yield [ClaimLine(one.claim, line) for one, lines in taken for line in lines]
    except BaseException:
        for one, lines in taken:
            one.context.log.give_back(lines)
        raise
    finally:
        for one in sending:
            one.context.log.sending.release()


@asynccontextmanager
async def last_lines_of(held: Held) -> AsyncIterator[list[ClaimLine]]:
    """What is left when the task has ended, once those have arrived that the heartbeats are sending."""
    log = held.context.log
    while not log.sending.acquire(blocking=False):  # noqa: ASYNC110 - another thread holds it
        await asyncio.sleep(LOOK_AGAIN_S)
    try:
        yield [ClaimLine(held.claim, line) for line in log.take()]
    finally:
        log.sending.release()


async def send_lines(connection: Connection, worker_id: str, lines: Sequence[ClaimLine]) -> None:
    if not lines:
        return
    await sql.add_logs.run(
        connection,
        worker_id=worker_id,
        task_ids=[one.claim.task_id for one in lines],
        claim_tokens=[one.claim.token for one in lines],
        at=[one.line.at for one in lines],
        levels=[one.line.level for one in lines],
        lines=[storable(one.line.text) for one in lines],
    )
