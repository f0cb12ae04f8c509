"""The log of one task: its lines go to the process's own log, and with the job to whoever looks at it."""

import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import structlog

MOST_LINES_WAITING = 10_000


@dataclass(frozen=True)
class LogLine:
    at: datetime
    level: str
    text: str


class TaskLog:
    """``context.log.info("rendered", pages=3)``. Lines wait until the worker sends them.

    Whoever takes lines holds ``sending`` until they have arrived: nobody may overtake them.
    """

    def __init__(self, **ids: str) -> None:
        self._logger = structlog.get_logger("shoal.task").bind(**ids)
        self._waiting: deque[LogLine] = deque(maxlen=MOST_LINES_WAITING)
        self.sending = threading.Lock()

    def debug(self, message: str, **fields: Any) -> None:
        self._write("debug", message, fields)

    def info(self, message: str, **fields: Any) -> None:
        self._write("info", message, fields)

    def warning(self, message: str, **fields: Any) -> None:
        self._write("warning", message, fields)

    def error(self, message: str, **fields: Any) -> None:
        self._write("error", message, fields)

    def take(self) -> list[LogLine]:
        """The lines that wait, for the worker to send; they wait no more."""
        taken = []
        while self._waiting:
            taken.append(self._waiting.popleft())
        return taken

    def give_back(self, lines: Sequence[LogLine]) -> None:
        """Lines that could not be sent wait again, before the others, as far as there is room."""
        room = MOST_LINES_WAITING - len(self._waiting)
        self._waiting.extendleft(reversed(lines[len(lines) - min(room, len(lines)) :]))

    def _write(self, level: str, message: str, fields: dict[str, Any]) -> None:
        getattr(self._logger, level)(message, **fields)
        text = " ".join([message, *(f"{name}={value}" for name, value in fields.items())])
        self._waiting.append(LogLine(datetime.now(UTC), level, text))
