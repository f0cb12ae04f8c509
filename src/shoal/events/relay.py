"""The relay: a loop for each sink, so that none waits for another; and one that orders the outbox.

Any number of processes run one. Each takes what is free; the ledger keeps them apart.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from uuid import uuid4

import structlog

from shoal.events.measures import RelayCounts
from shoal.events.model import Sink, Told, Turn
from shoal.events.ports import Channel
from shoal.events.store import sink_of, sql, turns_of
from shoal.ledger.connection import REPEATABLE
from shoal.ledger.pool import Ledger
from shoal.runtime.lifecycle import Part

log = structlog.get_logger(__name__)

LEASE_S = 30.0
TELL_WITHIN_S = 20.0
"""Less than the lease: what is told after it may be somebody else's."""
PARTITIONS_AT_ONCE = 16
EVENTS_A_PARTITION = 200
LOOK_EVERY_S = 1.0
LOOK_AGAIN_AFTER_S = 0.05
"""Who appends while something waits for its position wakes nobody; so we look once more."""
LOOK_ANYWAY_EVERY_S = 30.0
LOOK_FOR_SINKS_EVERY_S = 5.0
PAUSE_AFTER_ERROR_S = 2.0
END_TURNS_WITHIN_S = 5.0

OpenChannel = Callable[[Sink], Channel | None]


class Relay(Part):
    """Tells every sink but the consumers of apps. ``open_channel`` answers None for one it cannot tell."""

    name = "event relay"

    def __init__(
        self,
        ledger: Ledger,
        *,
        woken: asyncio.Event,
        open_channel: OpenChannel,
        counts: RelayCounts,
        lease_s: float = LEASE_S,
    ) -> None:
        self._ledger = ledger
        self._woken = woken
        self._open_channel = open_channel
        self._counts = counts
        self._lease_s = lease_s
        self._stopping = asyncio.Event()
        self._loops: dict[str, tuple[Sink, SinkLoop, asyncio.Task[None]]] = {}

    async def run(self) -> None:
        try:
            look_at = 0.0
            while not self._stopping.is_set():
                self._woken.clear()
                ordered = 0
                try:
                    ordered = await self._order()
                    if ordered or time.monotonic() >= look_at:
                        await self._follow_sinks()
                        look_at = time.monotonic() + LOOK_FOR_SINKS_EVERY_S
                    await self._wake()
                except REPEATABLE as error:
                    log.warning("the outbox was not ordered", error=str(error))
                    await _any_of(self._stopping, timeout_s=PAUSE_AFTER_ERROR_S)
                pause_s = LOOK_AGAIN_AFTER_S if ordered else LOOK_EVERY_S
                await _any_of(self._woken, self._stopping, timeout_s=pause_s)
        finally:
            running = [task for _, _, task in self._loops.values()]
            if running:
                for _, loop, _ in self._loops.values():
                    loop.end()
                await asyncio.wait(running, timeout=END_TURNS_WITHIN_S)
            await self._end(running)

    async def stop(self) -> None:
        self._stopping.set()
        for _, loop, _ in self._loops.values():
            loop.end()

    async def _order(self) -> int:
        ordered = 0
        async with self._ledger.connection() as connection:
            while more := int(await sql.order_outbox.value(connection)):
                ordered += more
        self._counts.ordered.inc(ordered)
        return ordered

    async def _wake(self) -> None:
        """The sinks that have something to tell now; also what was to be tried again about now."""
        async with self._ledger.connection() as connection:
            await sql.skip_unwanted_events.run(connection)
            found = await sql.find_work.rows(connection)
        for row in found:
            if row["sink"] in self._loops:
                self._loops[row["sink"]][1].wake()

    async def _follow_sinks(self) -> None:
        async with self._ledger.connection() as connection:
            sinks = [sink_of(row) for row in await sql.find_sinks.rows(connection)]
        wanted = {sink.name: sink for sink in sinks if sink.paused_because is None}
        gone = [name for name, (sink, _, _) in self._loops.items() if wanted.get(name) != sink]
        await self._end([self._loops.pop(name)[2] for name in gone])
        for name, sink in wanted.items():
            if name in self._loops:
                continue
            loop = self._loop_of(sink)
            if loop is not None:
                self._loops[name] = sink, loop, asyncio.create_task(loop.run(), name=f"sink {name}")

    def _loop_of(self, sink: Sink) -> "SinkLoop | None":
        if sink.kind == "jobs":
            return JobsLoop(self._ledger, sink)
        channel = self._open_channel(sink)
        if channel is None:
            return None
        return ChannelLoop(self._ledger, sink, channel, counts=self._counts, lease_s=self._lease_s)

    async def _end(self, tasks: Sequence[asyncio.Task[None]]) -> None:
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


class SinkLoop:
    """Takes turns of one sink while there are any, and waits until it is woken."""

    def __init__(self, ledger: Ledger, sink: Sink) -> None:
        self._ledger = ledger
        self._sink = sink
        self._woken = asyncio.Event()
        self._ending = asyncio.Event()

    def wake(self) -> None:
        self._woken.set()

    def end(self) -> None:
        """After the turn it is at."""
        self._ending.set()

    async def run(self) -> None:
        try:
            while not self._ending.is_set():
                self._woken.clear()
                try:
                    if await self.turn():
                        continue
                except REPEATABLE as error:
                    log.warning("a sink was not told", sink=self._sink.name, error=str(error))
                    await _any_of(self._ending, timeout_s=PAUSE_AFTER_ERROR_S)
                except Exception:
                    # A defect at one sink must not be the end of the others.
                    log.exception("a sink cannot be told", sink=self._sink.name)
                    await _any_of(self._ending, timeout_s=PAUSE_AFTER_ERROR_S * 5)
                await _any_of(self._woken, self._ending, timeout_s=LOOK_ANYWAY_EVERY_S)
        finally:
            await self.close()

    async def turn(self) -> bool:
        """Tell what there is; False when there was nothing."""
        raise NotImplementedError

    async def close(self) -> None:
        """Let go of what it used."""


class JobsLoop(SinkLoop):
    """The consumer of ``job.start``: everything happens in the ledger, in one transaction."""

    async def turn(self) -> bool:
        async with self._ledger.connection() as connection:
            return await sql.start_jobs_of_events.value(connection, sink=self._sink.name) is not None


class ChannelLoop(SinkLoop):
    def __init__(
        self, ledger: Ledger, sink: Sink, channel: Channel, *, counts: RelayCounts, lease_s: float
    ) -> None:
        super().__init__(ledger, sink)
        self._channel = channel
        self._counts = counts
        self._lease_s = lease_s

    async def close(self) -> None:
        await self._channel.close()

    async def turn(self) -> bool:
        token = uuid4()
        until = time.monotonic() + self._lease_s * TELL_WITHIN_S / LEASE_S
        async with self._ledger.connection() as connection:
            rows = await sql.take_events.rows(
                connection,
                sink=self._sink.name,
                holder=token,
                lease_s=self._lease_s,
                partitions=PARTITIONS_AT_ONCE,
                at_most=EVENTS_A_PARTITION,
            )
        turns = turns_of(rows)
        if not turns:
            return False
        try:
            told = await self._channel.tell(turns, until=until)
        except BaseException:
            async with asyncio.timeout(PAUSE_AFTER_ERROR_S), self._ledger.connection() as connection:
                await sql.release_cursors.run(connection, sink=self._sink.name, holder=token)
            raise
        await self._record(token, list(zip(turns, told, strict=True)))
        return any(answer.failure is None for answer in told)

    async def _record(self, token: object, outcomes: Sequence[tuple[Turn, Told]]) -> None:
        """Move the cursors past what was told."""
        moved = [(turn, answer) for turn, answer in outcomes if answer.failure is None]
        async with self._ledger.connection() as connection:
            if moved:
                await sql.advance_cursors.run(
                    connection,
                    sink=self._sink.name,
                    holder=token,
                    partitions=[turn.partition for turn, _ in moved],
                    positions=[_position_after(turn, answer.count) for turn, answer in moved],
                )
            for turn, answer in outcomes:
                if answer.failure is not None:
                    failed = turn.events[answer.count]
                    verdict = await sql.fail_event.value(
                        connection,
                        sink=self._sink.name,
                        holder=token,
                        partition=turn.partition,
                        position=failed.position,
                        event_id=failed.id,
                        kind=answer.failure.kind,
                        error=answer.failure.error,
                    )
                    self._counts.failed.labels(self._sink.kind, answer.failure.kind).inc()
                    log.warning(
                        "an event was not told",
                        sink=self._sink.name,
                        event_id=str(failed.id),
                        verdict=verdict,
                        error=answer.failure.error[:200],
                    )
        self._counts.told.labels(self._sink.kind).inc(sum(answer.count for _, answer in outcomes))


def _position_after(turn: Turn, count: int) -> int:
    """Where the cursor goes when so many of its events were told: time may have been up before the last."""
    if count == len(turn.events):
        return turn.up_to
    return turn.events[count].position - 1


async def _any_of(*events: asyncio.Event, timeout_s: float) -> None:
    """Return when one of the events is set, or the time is up."""
    if any(event.is_set() for event in events):
        return
    waiters = [asyncio.create_task(event.wait()) for event in events]
    try:
        await asyncio.wait(waiters, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for waiter in waiters:
            waiter.cancel()
