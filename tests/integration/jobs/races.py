"""Watching transactions meet: a call that waits for a lock, and what the ledger refuses."""

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import asyncpg
import pytest

from shoal.runtime.errors import ShoalError
from shoal.runtime.refusals import translate
from tests.integration.jobs.ledger_client import LedgerClient

Answer = TypeVar("Answer")

IS_WAITING = "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $1"
WAITS_FOR = "SELECT $2::int = ANY (pg_blocking_pids($1))"
LOOK_EVERY_S = 0.002
DEADLINE_S = 10.0


async def begun_and_waiting(
    call: Coroutine[Any, Any, Answer], *, of: LedgerClient, seen_by: LedgerClient
) -> "asyncio.Task[Answer]":
    """Start a call on the connection ``of``; return once it waits for a lock somebody else holds."""
    task = asyncio.create_task(call)
    waiting = asyncio.create_task(is_waiting(of, seen_by=seen_by))
    await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
    assert not task.done(), f"it did not wait: {task}"
    await waiting
    return task


async def is_waiting(client: LedgerClient, *, seen_by: LedgerClient) -> None:
    """Return once the call under way on a connection waits for a lock."""
    await _true(seen_by, IS_WAITING, client.connection.get_server_pid())


async def waits_for(holder: LedgerClient, client: LedgerClient, *, seen_by: LedgerClient) -> None:
    """Return once that call waits for ``holder``: an earlier wait for somebody else does not count."""
    pids = client.connection.get_server_pid(), holder.connection.get_server_pid()
    await _true(seen_by, WAITS_FOR, *pids)


async def _true(seen_by: LedgerClient, question: str, *pids: int) -> None:
    async with asyncio.timeout(DEADLINE_S):
        # The server tells nobody that somebody waits.
        while not await seen_by.connection.fetchval(question, *pids):  # noqa: ASYNC110
            await asyncio.sleep(LOOK_EVERY_S)


@contextmanager
def refused(kind: type[ShoalError], code: str) -> Iterator[None]:
    """The ledger says no, with this code."""
    with pytest.raises(asyncpg.PostgresError) as caught:
        yield
    error = translate(caught.value)
    assert error is not None, f"not one of our refusals: {caught.value!r}"
    assert (type(error), error.code) == (kind, code)
