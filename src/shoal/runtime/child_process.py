"""A process that belongs to this one: messages, a line each, go both ways, and it never outlives its owner.

It is spawned, never forked: nothing of the owner but two file descriptors gets into it. ``limits.die_with``
holds it to the second one, so that it dies with the owner, also when that is killed.
"""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from typing import BinaryIO


class ChildProcess:
    def __init__(
        self,
        process: "subprocess.Popen[bytes]",
        lifeline: BinaryIO,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._process = process
        self._lifeline = lifeline
        self._reader = reader
        self._writer = writer

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def say(self, line: bytes) -> None:
        self._writer.write(line)

    async def hear(self) -> bytes | None:
        """The next line; None when it has died."""
        line = b""
        with suppress(ConnectionError):
            line = await self._reader.readline()
        return line if line.endswith(b"\n") else None

    async def death(self) -> str:
        """How it ended, in words; waits for that."""
        code = await asyncio.to_thread(self._process.wait)
        return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"

    def kill(self) -> None:
        """With all that it has started. Doing it twice does no harm."""
        with suppress(ProcessLookupError, PermissionError):  # macOS: what has ended may not be killed
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._lifeline.close()
        self._writer.transport.abort()


async def start_child(module: str, *, longest_line: int) -> ChildProcess:
    """``python -m MODULE WIRE LIFELINE``: the arguments are file descriptors."""
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=ours, limit=longest_line)
    ends, lifeline = os.pipe()
    try:
        process = subprocess.Popen(  # noqa: ASYNC220 - nothing waits for it here
            [sys.executable, "-m", module, str(theirs.fileno()), str(ends)],
            stdin=subprocess.DEVNULL,
            pass_fds=(theirs.fileno(), ends),
            start_new_session=True,
        )
    finally:
        theirs.close()
        os.close(ends)
    return ChildProcess(process, os.fdopen(lifeline, "wb"), reader, writer)
