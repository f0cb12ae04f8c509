"""What the operating system does for us: kill with the worker, and hold a task to its memory."""

import fcntl
import os
import resource
import select
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from shoal.runtime.errors import TooLarge

MB = 1024 * 1024


def die_with(lifeline: int) -> None:
    """From now on this process group is killed when the other end of the pipe is closed.

    On Linux the kernel does that by itself, whatever the processes are at. Elsewhere a thread waits for
    it, which a call that holds the interpreter lock delays.
    """
    if sys.platform == "linux":
        fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpgrp())
        fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
        if select.select([lifeline], [], [], 0)[0]:  # closed before we asked
            os.killpg(0, signal.SIGKILL)
    else:
        threading.Thread(target=_wait_for_the_end_of, args=(lifeline,), daemon=True).start()


def _wait_for_the_end_of(lifeline: int) -> None:
    os.read(lifeline, 1)
    os.killpg(0, signal.SIGKILL)


@contextmanager
def limited_memory(megabytes: int | None) -> Iterator[None]:
    """Inside, allocations that would take this process over the limit fail (on Linux): ``TooLarge``."""
    if megabytes is None:
        yield
        return
    before, most = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (megabytes * MB, most))
    try:
        yield
    except MemoryError as error:
        raise TooLarge(
            "memory_limit_exceeded",
            f"It needs more than the {megabytes} MB it may use.",
            hint="Give it a higher memory_mb, or less to do at a time.",
        ) from error
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (before, most))
