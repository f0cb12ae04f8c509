"""One claimed task, from the claim to the report."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from shoal.app.context import Context


@dataclass(frozen=True)
class Claim:
    """A row of ``claim_work``, and the token it was claimed under."""

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


@dataclass(frozen=True)
class Held:
    """A claim this process is working on, and what its task says while it runs."""

    claim: Claim
    context: Context
