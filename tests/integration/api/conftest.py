"""The real app behind a real socket, with a real database and a folder as the vault.

One server per test process: starting and draining one takes longer than most of these tests. So they
run on one event loop (``pytestmark`` in each file) and use names of their own. A test that needs a
server in another state serves its own.
"""

from collections.abc import AsyncIterator
from datetime import timedelta

import httpx
import pytest
import pytest_asyncio
from litestar.types import ControllerRouterHandler
from prometheus_client import CollectorRegistry

from shoal.api.ended_jobs import ended_jobs_router
from shoal.api.jobs import jobs_router
from shoal.api.schedules import schedules_router
from shoal.api.tasks import tasks_router
from shoal.api.types import job_types_router, task_types_router
from shoal.jobs.ended_jobs import EndedJobs
from shoal.jobs.service import Jobs
from shoal.jobs.task_types import TaskTypeControl
from shoal.ledger.pool import Ledger
from shoal.schedules.service import Schedules
from shoal.vault.settings import VaultSettings
from shoal.vault.store import Vault, open_vault
from tests.integration.jobs.ledger_client import LedgerClient

from .job_desk import OPERATOR, JobDesk
from .sample_routes import SAMPLE_ROUTES
from .serving import Api, serve


@pytest.fixture(scope="session")
def ledger(shared_ledger: Ledger) -> Ledger:
    return shared_ledger


@pytest.fixture(scope="session")
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture(scope="session")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    return open_vault(
        VaultSettings(
            vault_url=f"file://{tmp_path_factory.mktemp('vault')}",
            vault_link_secret="link secret " * 4,
            vault_link_url="http://files.invalid",
        )
    )


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def api(ledger: Ledger, vault: Vault, registry: CollectorRegistry) -> AsyncIterator[Api]:
    jobs = Jobs(ledger, vault, link_expiry=timedelta(minutes=5))
    handlers: list[ControllerRouterHandler] = [
        *SAMPLE_ROUTES,
        jobs_router(jobs, max_batch_bytes=4 * 1024 * 1024),
        tasks_router(jobs),
        schedules_router(Schedules(ledger)),
        ended_jobs_router(EndedJobs(ledger)),
        job_types_router(jobs),
        task_types_router(TaskTypeControl(ledger), operators=[OPERATOR]),
    ]
    async with serve(ledger, vault, registry, handlers=handlers) as api:
        yield api


@pytest_asyncio.fixture(loop_scope="session")
async def client(api: Api) -> AsyncIterator[httpx.AsyncClient]:
    # Ten thousand jobs in one request take a busy machine longer than the usual five seconds.
    async with httpx.AsyncClient(base_url=api.url, trust_env=False, timeout=60) as client:
        yield client


@pytest_asyncio.fixture(loop_scope="session")
async def desk(client: httpx.AsyncClient, api: Api, ledger: Ledger) -> AsyncIterator[JobDesk]:
    async with ledger.connection() as connection:
        desk = JobDesk(client, api, LedgerClient(connection))
        await desk.worker.register(desk.job_type, phases=[("drawing", 80), ("binding", 100)])
        yield desk
