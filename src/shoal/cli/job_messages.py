"""What the beacon says about a job, for whoever follows it. It only saves looking: without it, one looks."""

import asyncio
import logging
import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from uuid import UUID

import centrifuge  # type: ignore[import-untyped]  # it has annotations and no py.typed
import msgspec

from shoal.cli.client import Client
from shoal.runtime.answers import through_proxy
from shoal.runtime.errors import ShoalError
from shoal.wire.beacon import BeaconToken
from shoal.wire.live import JobMessage

LOOK_EVERY_S = 0.25
LOOK_EVERY_S_WHILE_LISTENING = 5.0
END_S = 1.0


class JobMessages:
    def __init__(self) -> None:
        self._messages: queue.SimpleQueue[JobMessage] = queue.SimpleQueue()
        self._is_listening = False

    def wait(self) -> JobMessage | None:
        """The newest message there is, or None when it is time to look."""
        patience = LOOK_EVERY_S_WHILE_LISTENING if self._is_listening else LOOK_EVERY_S
        try:
            newest = self._messages.get(timeout=patience)
            while True:
                try:
                    newest = self._messages.get_nowait()
                except queue.Empty:
                    return newest
        except queue.Empty:
            return None

    def say(self, data: Any) -> None:
        try:
            self._messages.put(msgspec.convert(data, JobMessage))
        except msgspec.ValidationError:
            self._is_listening = False  # another version says something we do not know: look

    def begin(self, state: Any) -> None:
        self._is_listening = True
        self.say(state)

    def interrupt(self) -> None:
        self._is_listening = False


@contextmanager
def listening(client: Client, job_id: UUID) -> Iterator[JobMessages]:
    """Listens in a thread as long as the block lasts. Whatever is wrong with the beacon costs nothing."""
    messages = JobMessages()
    logging.getLogger("centrifuge").setLevel(logging.CRITICAL)
    ending = _Ending()
    thread = threading.Thread(target=_run, args=(client, job_id, messages, ending), daemon=True)
    thread.start()
    try:
        yield messages
    finally:
        ending.come()
        thread.join(2 * END_S)


class _Ending:
    """Told in one thread, awaited in another."""

    def __init__(self) -> None:
        self._came = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._awaited = asyncio.Event()

    def come(self) -> None:
        self._came.set()
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._awaited.set)

    async def wait(self) -> None:
        self._loop = asyncio.get_running_loop()
        if not self._came.is_set():
            await self._awaited.wait()


def _run(client: Client, job_id: UUID, messages: JobMessages, ending: _Ending) -> None:
    # There may be no beacon, or not for whoever asks; looking goes on.
    with suppress(ShoalError, centrifuge.CentrifugeError, OSError, ValueError):
        first = client.issue_beacon_token()
        asyncio.run(_listen(client, first, job_id, messages, ending))


async def _listen(
    client: Client, first: BeaconToken, job_id: UUID, messages: JobMessages, ending: _Ending
) -> None:
    async def get_token() -> str:
        return (await asyncio.to_thread(client.issue_beacon_token)).token

    connection = centrifuge.Client(
        first.url,
        token=first.token,
        get_token=get_token,
        proxy=True if through_proxy(first.url) else None,
        max_reconnect_delay=5.0,
    )
    subscription = connection.new_subscription(f"jobs:{job_id}", events=_OfJob(messages))
    await connection.connect()
    await subscription.subscribe()
    try:
        await ending.wait()
    finally:
        await connection.disconnect()
        if closing := asyncio.all_tasks() - {asyncio.current_task()}:  # the client closes in the background
            await asyncio.wait(closing, timeout=END_S)


class _OfJob(centrifuge.SubscriptionEventHandler):  # type: ignore[misc]  # of a library without types
    def __init__(self, messages: JobMessages) -> None:
        self._messages = messages

    async def on_subscribed(self, ctx: Any) -> None:
        self._messages.begin(ctx.data)

    async def on_publication(self, ctx: Any) -> None:
        self._messages.say(ctx.pub.data)

    async def on_subscribing(self, _ctx: Any) -> None:
        self._messages.interrupt()

    async def on_unsubscribed(self, _ctx: Any) -> None:
        self._messages.interrupt()
