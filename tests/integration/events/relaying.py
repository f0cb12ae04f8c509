"""The events side of a sentinel, as its role builds it; in this process, or as a process of its own:

python -m tests.integration.events.relaying '{"database_url": …}'
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from shoal.ledger.listener import Listener
from shoal.ledger.pool import Ledger
from shoal.ledger.settings import LedgerSettings
from shoal.roles.beacon import BeaconSide
from shoal.roles.config import SECTIONS
from shoal.roles.events import event_side
from shoal.runtime.lifecycle import Part, run_parts
from shoal.runtime.logs import LogSettings, configure_logs
from shoal.runtime.metrics import new_registry
from shoal.runtime.settings import read_settings

LOOK_EVERY_S = 0.02


def parts_of(given: dict[str, Any]) -> list[Part]:
    settings = read_settings(SECTIONS, flags=given, environ={})
    ledger = Ledger(settings[LedgerSettings])
    listener = Listener(settings[LedgerSettings])
    side = event_side(
        settings, ledger=ledger, listener=listener, registry=new_registry(), beacon=BeaconSide()
    )
    return [ledger, listener, *side.parts]


@asynccontextmanager
async def relaying(database_url: str, **given: Any) -> AsyncIterator[None]:
    started, ending = asyncio.Event(), asyncio.Event()
    parts = parts_of({"database_url": database_url, **given})
    running = asyncio.create_task(run_parts(parts, grace_s=10, until=ending, on_started=started.set))
    waiting = asyncio.create_task(started.wait())
    await asyncio.wait({running, waiting}, return_when=asyncio.FIRST_COMPLETED)
    try:
        yield
    finally:
        waiting.cancel()
        ending.set()
        await running


class RelayProcess:
    def __init__(self, database_url: str, **given: Any) -> None:
        command = [sys.executable, "-m", __name__, json.dumps({"database_url": database_url, **given})]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n"

    def pause(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


async def until(holds: Callable[[], Awaitable[Any] | Any], *, within_s: float = 30) -> None:
    async with asyncio.timeout(within_s):
        while True:
            found = holds()
            if await found if isinstance(found, Awaitable) else found:
                return
            await asyncio.sleep(LOOK_EVERY_S)


if __name__ == "__main__":
    configure_logs(LogSettings(log_level="error"))

    def say_ready() -> None:
        os.write(1, b"ready\n")

    asyncio.run(run_parts(parts_of(json.loads(sys.argv[1])), grace_s=5, on_started=say_ready))
