"""What was asked has happened, and the answer never came: it is asked again, and happens once."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from shoal import App, Context
from tests.integration.jobs.ledger_client import graph, task
from tests.support.wire import Wire, wire_to

from .workshop import Workshop, happened, until

pytestmark = pytest.mark.newest_servers

LONG_LEASE_S = 60  # longer than a wire is dead in here


class Ran:
    """A task that says that it ran, and may end."""

    def __init__(self) -> None:
        self.attempts: list[int] = []
        self.ended = 0
        self.may_end = asyncio.Event()
        self.app = App()

        @self.app.task("work")
        async def work(context: Context) -> str:
            self.attempts.append(context.attempt)
            await self.may_end.wait()
            self.ended += 1
            return "the answer"

    async def has_begun(self) -> bool:
        return len(self.attempts) > 0

    async def has_ended(self) -> bool:
        return self.ended > 0


@pytest.fixture
async def ran() -> Ran:
    return Ran()


@pytest.fixture
async def wire(workshop: Workshop, ran: Ran) -> AsyncIterator[Wire]:
    """The wire of a worker that is running."""
    async with (
        wire_to(workshop.database_url) as (wire, url),
        workshop.worker(ran.app, database_url=url, worker_lease_s=LONG_LEASE_S),
    ):
        yield wire
        wire.mend()


async def test_a_claim_whose_reply_was_lost_is_repeated(workshop: Workshop, ran: Ran, wire: Wire) -> None:
    wire.lose_reply_about(b"precious")
    job = await workshop.client.start(graph(task("precious")))
    await happened(wire.reply_lost)
    token = (await workshop.task_is(job, "claimed"))["claim_token"]
    ran.may_end.set()
    assert (await workshop.ended(job))["status"] == "complete"
    row = await workshop.task(job)
    assert (row["attempts"], row["claim_token"]) == (1, token)
    assert ran.attempts == [1]


async def test_a_completion_whose_reply_was_lost_is_repeated_and_counts_once(
    workshop: Workshop, ran: Ran, wire: Wire
) -> None:
    job = await workshop.start("work")
    await until(ran.has_begun)
    wire.lose_reply_about(b"the answer")
    ran.may_end.set()
    await happened(wire.reply_lost)
    row = await workshop.task_is(job, "complete")
    after = await workshop.start("work")  # the worker goes on
    assert (await workshop.ended(after))["status"] == "complete"
    assert ran.attempts == [1, 1]
    assert await workshop.task(job) == row


async def test_a_result_waits_for_a_ledger_that_is_away(workshop: Workshop, ran: Ran, wire: Wire) -> None:
    job = await workshop.start("work")
    await until(ran.has_begun)
    wire.cut()
    ran.may_end.set()
    await until(ran.has_ended)
    assert (await workshop.task(job))["status"] == "claimed"
    wire.mend()
    assert (await workshop.ended(job))["status"] == "complete"
    assert (await workshop.task(job))["output"] == "the answer"
    assert ran.attempts == [1]


async def test_what_was_claimed_is_run_whatever_happens_to_the_next_question(
    workshop: Workshop, ran: Ran
) -> None:
    """Asking when the next task is due fails, right after a claim that did not."""
    job = await workshop.start("work")
    ran.may_end.set()
    async with wire_to(workshop.database_url) as (wire, url):
        wire.lose_reply_about(b"-- next_due")
        async with workshop.worker(ran.app, database_url=url, worker_lease_s=LONG_LEASE_S):
            await happened(wire.reply_lost)
            assert (await workshop.ended(job))["status"] == "complete"
    assert ran.attempts == [1]
