"""A task whose files are over the quota fails for good, says so, and leaves nothing in the vault."""

import pytest

from shoal import App, Context
from tests.integration.jobs.ledger_client import OWNER

from .workshop import Workshop

pytestmark = pytest.mark.newest_servers


async def test_a_task_over_the_quota_fails_once_and_leaves_no_file(workshop: Workshop) -> None:
    app = App()

    @app.task("make")
    def make(context: Context) -> None:
        for name in ("one.txt", "two.txt"):
            context.artifact(name, b"x" * 600, type="text")

    await workshop.client.connection.execute("SELECT limit_vault($1, 1000)", OWNER)
    job = await workshop.start("make", max_attempts=5)
    async with workshop.worker(app):
        ended = await workshop.ended(job)

    assert ended["status"] == "failed"
    assert ended["error"].startswith("quota_exceeded: The files of this user would take 1200 bytes")
    assert (await workshop.task(job))["attempts"] == 1
    assert [path for path in workshop.vault.rglob("*") if path.is_file()] == []
