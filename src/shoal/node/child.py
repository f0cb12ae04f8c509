"""The process that computes: one chunk after the other, giving way to whatever else the machine does.

``python -m shoal.node.child WIRE LIFELINE``: two file descriptors. Messages go over the wire; the lifeline
ends when the node does, and this process with it.
"""

import os
import queue
import socket
import sys
import threading
import time

import msgspec

from shoal.app.engine import Engine
from shoal.app.references import imported_apps
from shoal.node.chunks import Computed, NotComputed, iterations_of
from shoal.node.messages import Compute, FromProcess, Moved, from_node, line_of
from shoal.runtime.errors import NotFound, ShoalError
from shoal.runtime.limits import die_with, limited_memory

TELL_EVERY_S = 0.2
MOST_WORDS = 500


class _Stopped(BaseException):
    """Past whatever an engine may catch."""


class ChunkRunner:
    """The main thread computes, a second one hears the node."""

    def __init__(self, wire: socket.socket) -> None:
        self._wire = wire
        self._asked: queue.SimpleQueue[Compute] = queue.SimpleQueue()
        self._stop = threading.Event()
        self._told_at = 0.0

    def serve(self) -> None:
        threading.Thread(target=self._hear, daemon=True).start()
        while True:
            self._say(self._ending_of(self._asked.get()))

    def _hear(self) -> None:
        try:
            for line in self._wire.makefile("rb"):
                message = from_node(line)
                if isinstance(message, Compute):
                    self._stop.clear()  # it was meant for the chunk before
                    self._asked.put(message)
                else:
                    self._stop.set()
        finally:
            os._exit(1)  # nobody is left who could be told anything

    def _ending_of(self, asked: Compute) -> Computed | NotComputed:
        try:
            os.setpriority(os.PRIO_PROCESS, 0, asked.niceness)
            engine = find_engine(asked)
            with limited_memory(asked.memory_mb):
                result = engine.compute(asked.config, iterations_of(asked.chunk), moved=self._move)
            return Computed(msgspec.to_builtins(result))
        except ShoalError as error:
            return NotComputed(error.code, error.message)
        except BaseException as error:  # noqa: BLE001 - also what would end this process
            return NotComputed("engine_failed", f"{type(error).__name__}: {error}"[:MOST_WORDS])

    def _move(self, iterations: int) -> None:
        if self._stop.is_set():
            raise _Stopped
        now = time.monotonic()
        if now - self._told_at >= TELL_EVERY_S:
            self._told_at = now
            self._say(Moved(iterations))

    def _say(self, message: FromProcess) -> None:
        self._wire.sendall(line_of(message))


def find_engine(asked: Compute) -> Engine:
    """As the node has found it: its apps were looked up from the same places."""
    sys.path[:] = asked.paths
    for app in imported_apps(asked.apps):
        for engine in app.engines.values():
            if engine.identity == asked.chunk.engine:
                return engine
    raise NotFound("unknown_engine", f"No app of this node has the engine {asked.chunk.engine}.")


def main() -> None:
    wire, lifeline = (int(number) for number in sys.argv[1:])
    die_with(lifeline)
    os.dup2(2, 1)  # the node's stdout is not the engine's
    ChunkRunner(socket.socket(fileno=wire)).serve()


if __name__ == "__main__":
    main()
