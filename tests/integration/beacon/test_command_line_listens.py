"""What ``shoal job watch`` hears, and that it goes on looking where it hears nothing."""

import asyncio
from collections.abc import AsyncIterator, Callable
from uuid import UUID

import httpx
import pytest
import pytest_asyncio

from shoal.cli.client import Client
from shoal.cli.job_messages import JobMessages, listening
from shoal.wire.live import JobCompleted, JobMessage, JobProgressed

from .listener import DEADLINE_S
from .site import Site
from .test_live_progress import telling
from .work import Work, work_for

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest_asyncio.fixture(loop_scope="session")
async def ann(at_hub: Site) -> UUID:
    return await at_hub.user()


@pytest_asyncio.fixture(loop_scope="session")
async def work(at_hub: Site, ann: UUID) -> AsyncIterator[Work]:
    async with work_for(at_hub.ledger, ann) as work:
        yield work


async def heard(messages: JobMessages, is_it: Callable[[JobMessage], bool]) -> JobMessage:
    async with asyncio.timeout(DEADLINE_S):
        while True:
            message = await asyncio.to_thread(messages.wait)
            if message is not None and is_it(message):
                return message


async def test_it_hears_the_job_move_and_end(at_hub: Site, ann: UUID, work: Work) -> None:
    with httpx.Client(base_url=at_hub.api.url, headers=at_hub.api.token(ann), trust_env=False) as http:
        async with telling(at_hub):
            with listening(Client(http), work.id) as messages:
                await heard(messages, lambda said: isinstance(said, JobProgressed))
                await work.complete_one()
                await heard(messages, lambda said: isinstance(said, JobProgressed) and said.percent == 50)
                await work.complete_one("read aloud")
                assert isinstance(
                    await heard(messages, lambda said: not isinstance(said, JobProgressed)), JobCompleted
                )


async def test_where_nothing_is_said_it_is_soon_time_to_look(at_hub: Site, ann: UUID, work: Work) -> None:
    nobody = {"Authorization": "Bearer nonsense"}
    for headers, url in (
        (nobody, at_hub.api.url),
        (at_hub.api.token(ann), "http://127.0.0.1:9"),
        (at_hub.api.token(), at_hub.api.url),  # somebody else's job: no listening to it
    ):
        with (
            httpx.Client(base_url=url, headers=headers, trust_env=False) as http,
            listening(Client(http), work.id) as messages,
        ):
            for _ in range(3):
                assert await asyncio.to_thread(messages.wait) is None


async def test_what_it_does_not_understand_makes_it_look(work: Work) -> None:
    messages = JobMessages()
    messages.begin({"type": "progress", "of": "another version"})
    assert await asyncio.to_thread(messages.wait) is None


async def test_it_takes_the_newest_of_what_has_gathered() -> None:
    messages = JobMessages()
    for done in range(5):
        state = {"status": "processing", "percent": done, "phase": "", "message": ""}
        messages.begin({"type": "progress", "completed": done, "total": 5, **state})
    newest = messages.wait()
    assert isinstance(newest, JobProgressed)
    assert newest.completed == 4
