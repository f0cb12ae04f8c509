"""A user at the API of jobs, and a worker that does what they ask for."""

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

import httpx

from tests.integration.jobs.ledger_client import LedgerClient, graph, task

from .serving import Api

PLAN = "plan"
OPERATOR = UUID("00000000-0000-4000-8000-000000000001")


@dataclass
class JobDesk:
    """The types and the user are its own: other tests on the same database do not see them."""

    client: httpx.AsyncClient
    api: Api
    worker: LedgerClient
    user: UUID = field(default_factory=uuid4)
    job_type: str = field(default_factory=lambda: f"job_{uuid4().hex[:12]}")
    task_type: str = field(default_factory=lambda: f"task_{uuid4().hex[:12]}")

    # Asking

    async def ask(
        self,
        method: str,
        path: str,
        *,
        user: UUID | None = None,
        headers: dict[str, str] | None = None,
        **given: Any,
    ) -> httpx.Response:
        """As the user of the desk, as another one, or with headers of one's own."""
        known = {**self.api.token(user or self.user), **(headers or {})}
        return await self.client.request(method, path, headers=known, **given)

    async def start(self, **given: Any) -> dict[str, Any]:
        answer = await self.ask("POST", "/api/jobs/start", json={"type": self.job_type, **given})
        assert answer.status_code == 201, answer.text
        return dict(answer.json())

    async def read(self, path: str, **params: Any) -> dict[str, Any]:
        answer = await self.ask("GET", path, params=params)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    async def refusal(self, method: str, path: str, **given: Any) -> tuple[int, str]:
        """The status and the code of a problem that says what was wrong."""
        answer = await self.ask(method, path, **given)
        assert answer.headers["content-type"] == "application/problem+json", answer.text
        problem = answer.json()
        assert (problem["status"], problem["instance"]) == (answer.status_code, answer.url.path)
        assert problem["detail"]
        return answer.status_code, problem["code"]

    async def key(self, kind: Any) -> dict[str, str]:
        issued = await self.api.access.issue_key(kind, f"{kind}-{uuid4().hex[:8]}")
        return {"Authorization": f"Bearer {issued.text}"}

    # Working

    async def plan(self, *names: str) -> dict[str, UUID]:
        """Plan the one job that waits for it, as independent tasks of these names; returns their ids."""
        (claim,) = await self.worker.claim(9, types=[f"plan:{self.job_type}"])
        made = [task(name, task_type=self.task_type) for name in names]
        assert await self.worker.plan(claim, graph(*made))
        rows = await self.worker.tasks(claim.job_id)
        return {row["name"]: row["id"] for row in rows if row["name"] != PLAN}

    async def complete(self, output: object = None, *, artifact: str | None = None, log: str = "") -> None:
        """Take everything that is ready, and complete it."""
        claims = await self.worker.claim(99, types=[self.task_type])
        for claim in claims:
            if artifact:
                assert await self.worker.add_artifact(claim, artifact)
            if log:
                await self.worker.add_logs([(claim, log)])
        verdicts = await self.worker.complete(*claims, output=output)
        assert verdicts == ["completed"] * len(claims)

    async def fail(self, error: str) -> None:
        claims = await self.worker.claim(99, types=[self.task_type])
        verdicts = await self.worker.fail(*claims, error=error, permanent=True)
        assert verdicts == ["failed"] * len(claims)
