"""The lines that tasks wrote, on their way to the ledger."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from shoal.app.task_log import LogLine
from shoal.ledger.connection import Connection
from shoal.ledger.text import storable
from shoal.worker.claims import sql
from shoal.worker.held import Claim, Held


@dataclass(frozen=True)
class ClaimLine:
    claim: Claim
    line: LogLine


def take_lines(held: Iterable[Held]) -> list[ClaimLine]:
    return [
        ClaimLine(one.claim, line)
        for one in held
        if one.context.used("log")
        for line in one.context.log.take()
    ]


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
