"""Finding server processes by the directory they work in, and ending them.

Both servers make their data directory their current directory and stay there. That says more than a
pid file: it cannot be stale, and a recycled pid cannot imitate it.
"""

import asyncio
import signal
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

_POLL_S = 0.02

Farewell = Sequence[tuple[signal.Signals, float]]
"""Signals to send, each with the seconds its receiver has before the next one."""


def processes_in(directory: Path, names: Iterable[str]) -> list[psutil.Process]:
    """The living processes called one of ``names`` that work in ``directory``."""
    wanted = frozenset(names)
    where = str(directory.resolve())
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.name() in wanted and process.cwd() == where and is_alive(process):
                found.append(process)
    return found


def is_alive(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return process.is_running() and bool(process.status() != psutil.STATUS_ZOMBIE)
    return False


async def wait_for_end(processes: Sequence[psutil.Process], seconds: float) -> bool:
    """Whether all of them ended in time."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            for process in processes:
                while is_alive(process):  # noqa: ASYNC110 - nothing tells us when a stranger ends
                    await asyncio.sleep(_POLL_S)
            return True
    return False


async def end(processes: Sequence[psutil.Process], farewell: Farewell) -> None:
    """Ask ever more firmly, until all of them ended."""
    for number, seconds in farewell:
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(number)
        if await wait_for_end(processes, seconds):
            return
