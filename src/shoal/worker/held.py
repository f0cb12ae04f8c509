"""One claimed task, from the claim to the report."""

import asyncio
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

from shoal.app.context import Context

PLAN = "plan:"
"""What stands before the type of a job in the type of the task that plans it."""


class Claim(NamedTuple):
    """The token a task was claimed under, and the row of ``claim_work``."""

    token: UUID
    task_id: UUID
    job_id: UUID
    user_id: UUID
    job_type: str
    task_name: str
    task_type: str
    attempt: int
    max_attempts: int
    timeout_s: float | None
    input: Any
    needs: dict[str, Any] | None

    def log_ids(self) -> dict[str, str]:
        return {"job_id": str(self.job_id), "task_id": str(self.task_id)}


def new_context(claim: Claim) -> Context:
    return Context(
        job_id=claim.job_id,
        task_id=claim.task_id,
        name=claim.task_name,
        attempt=claim.attempt,
        max_attempts=claim.max_attempts,
        input=claim.input,
        needs=claim.needs or {},
    )


@dataclass(slots=True, eq=False)
class Held:
    """A claim this process answers for, what its task says, and the asyncio task while it runs."""

    claim: Claim
    context: Context
    running: "asyncio.Task[None] | None" = None
