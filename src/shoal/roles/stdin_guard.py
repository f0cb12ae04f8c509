"""The life of a child process, tied to that of its parent."""

import asyncio
import os
import sys
import threading
import time
from contextlib import suppress

from shoal.runtime.lifecycle import FORCED_EXIT, Part

LAST_CHANCE_S = 5.0


class StdinGuard(Part):
    """Ends the process in order when its stdin is closed, as it is when the parent dies.

    It is a thread: a task that never lets go of the event loop must not outlive the parent either.
    """

    name = "stdin guard"

    def __init__(self, ended: asyncio.Event, *, grace_s: float) -> None:
        self._ended = ended
        self._grace_s = grace_s

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._watch, args=[loop], name=self.name, daemon=True).start()

    def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
        while os.read(sys.stdin.fileno(), 4096):
            pass
        with suppress(RuntimeError):  # the loop is closed: it has ended already
            loop.call_soon_threadsafe(self._ended.set)
        time.sleep(self._grace_s + LAST_CHANCE_S)
        os._exit(FORCED_EXIT)
