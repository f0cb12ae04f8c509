"""The cluster as its owner sees it through the API."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any
from uuid import UUID

import httpx

from shoal.access.tokens import issue_token
from tests.scenarios.cluster import Cluster

TIMEOUT_S = 10.0
TOKEN_LIFETIME = timedelta(hours=1)


class FrontDoor:
    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http

    async def is_healthy(self) -> bool:
        try:
            return (await self._http.get("/status")).is_success
        except httpx.HTTPError:
            return False

    async def start_job(self, job_type: str, params: dict[str, Any]) -> UUID:
        answer = await self._http.post("/api/jobs/start", json={"type": job_type, "params": params})
        return UUID(answer.raise_for_status().json()["id"])

    async def read_job(self, job_id: UUID) -> dict[str, Any]:
        job: dict[str, Any] = (await self._http.get(f"/api/jobs/{job_id}")).raise_for_status().json()
        return job

    async def download(self, artifact: dict[str, Any]) -> bytes:
        """By its signed link alone."""
        async with httpx.AsyncClient(timeout=TIMEOUT_S, trust_env=False) as stranger:
            return (await stranger.get(artifact["url"])).raise_for_status().content


@asynccontextmanager
async def front_door_of(cluster: Cluster) -> AsyncIterator[FrontDoor]:
    secrets = cluster.directory.secrets()
    token = issue_token(secrets.jwt_secret, secrets.owner_id, TOKEN_LIFETIME)
    async with httpx.AsyncClient(
        base_url=cluster.up.url,
        headers={"Authorization": f"Bearer {token}"},
        timeout=TIMEOUT_S,
        trust_env=False,
    ) as http:
        yield FrontDoor(http)
