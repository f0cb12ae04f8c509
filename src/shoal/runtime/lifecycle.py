"""One life-cycle contract for every long-running part, and the one loop that drives it.

A role lists its parts in order. They start in that order, each ready before the next begins, and
stop in the reverse order, so that a part can use what stands before it until its own end.

* SIGTERM or SIGINT asks for an orderly end: finish or hand back what is held, within the grace
  period they all share (a part that comes late still gets a moment). What has not ended is cancelled.
* A second signal ends the process at once.
* A part whose ``run`` raises takes the process down in order; a process never limps on.
"""

import asyncio
import os
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import structlog

log = structlog.get_logger(__name__)

SIGNALS = (signal.SIGTERM, signal.SIGINT)
FORCED_EXIT = 130
LEAST_GRACE_S = 2.0


class Part:
    """Something with a life of its own. Stopping what never started, or twice, does nothing."""

    name = "part"

    async def start(self) -> None:
        """Return when ready. Raising stops the parts already started, and the process."""

    async def run(self) -> None:
        """Work until ``stop`` is called. Returning early is fine; raising ends the process."""

    async def stop(self) -> None:
        """Ask ``run`` to finish or hand back what is held; return once that is under way."""


class _Running:
    def __init__(self, part: Part, task: asyncio.Task[None]) -> None:
        self.part = part
        self.task = task


async def run_parts(
    parts: Sequence[Part],
    *,
    grace_s: float,
    until: asyncio.Event | None = None,
    on_started: Callable[[], None] | None = None,
) -> None:
    """Start the parts, wait for a signal (or ``until``, or a failure), stop them in reverse.

    The first failure is raised again once everything has stopped.
    """
    ending = until or asyncio.Event()
    failure: BaseException | None = None
    with _signals_set(ending):
        running: list[_Running] = []
        try:
            for part in parts:
                await _start(part, running)
                if ending.is_set():
                    break
            else:
                if on_started is not None:
                    on_started()
            failure = await _first_end(running, ending)
        finally:
            await _stop(running, grace_s)
        for error in (failure, *(_failure_of(one.task) for one in running)):
            if error is not None:
                raise error


async def _start(part: Part, running: list[_Running]) -> None:
    try:
        await part.start()
    except BaseException:
        await part.stop()
        raise
    running.append(_Running(part, asyncio.create_task(part.run(), name=part.name)))
    log.debug("part started", part=part.name)


async def _first_end(running: Sequence[_Running], ending: asyncio.Event) -> BaseException | None:
    """Return when ``ending`` is set or one part has failed; parts that just return do not count."""
    signalled = asyncio.create_task(ending.wait())
    alive = {one.task for one in running}
    try:
        while not ending.is_set():
            done, _ = await asyncio.wait({signalled, *alive}, return_when=asyncio.FIRST_COMPLETED)
            alive -= done
            for task in done - {signalled}:
                if failure := _failure_of(task):
                    return failure
    finally:
        signalled.cancel()
    return None


def _failure_of(task: asyncio.Task[Any]) -> BaseException | None:
    """None also while it runs on, deaf to its cancellation."""
    return task.exception() if task.done() and not task.cancelled() else None


async def _stop(running: Sequence[_Running], grace_s: float) -> None:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + grace_s
    for one in reversed(running):
        try:
            async with asyncio.timeout_at(max(deadline, loop.time() + LEAST_GRACE_S)):
                await one.part.stop()
                await asyncio.wait({one.task})
        except TimeoutError:
            log.warning("part did not end within the grace period", part=one.part.name)
        except Exception:
            log.exception("part failed to stop", part=one.part.name)
        one.task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.wait({one.task}, timeout=LEAST_GRACE_S)
        log.debug("part stopped", part=one.part.name)


class _signals_set:  # noqa: N801 - reads as a statement: with _signals_set(event)
    """While inside: the first signal sets the event, the second ends the process."""

    def __init__(self, ending: asyncio.Event) -> None:
        self._ending = ending
        self._seen = False

    def __enter__(self) -> None:
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.add_signal_handler(number, self._on_signal, number)

    def __exit__(self, *_: object) -> None:
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.remove_signal_handler(number)

    def _on_signal(self, number: int) -> None:
        if self._seen:
            os._exit(FORCED_EXIT)
        self._seen = True
        log.info("ending", signal=signal.Signals(number).name)
        self._ending.set()
