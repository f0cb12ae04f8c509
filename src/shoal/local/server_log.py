"""The file a server prints to, and what in it explains why the server did not start."""

import re
import shutil
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

_LONGEST = 10 * 1024 * 1024
_NEARLY_FULL = 1024 * 1024
_LINES = 4

_FULL = re.compile(r"No space left on device|is full")
_TELLING = re.compile(r"FATAL|PANIC|ERROR|DETAIL|HINT|\berror\b|denied|No space|[Cc]an't|[Ff]ailed")
_PREFIX = re.compile(
    r"^\d{4}-\d\d-\d\d \S+ \S+ \[\d+\] "  # PostgreSQL: time, zone, [pid]
    r"|^\d+:[A-Z] \d+ \w{3} \d{4} \S+ \S "  # Valkey: pid:role, time, level
)


def open_log(path: Path) -> BinaryIO:
    """Open for appending; a log that grew large makes room first (one older one is kept)."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.exists() and path.stat().st_size > _LONGEST:
        path.replace(path.with_suffix(f"{path.suffix}.1"))
    return path.open("ab")


def explain(output: str, home: Path) -> str:
    """The telling lines of a server's output, in one line, and whether the disk is full."""
    lines = [_PREFIX.sub("", line.strip()) for line in output.splitlines() if line.strip()]
    telling = _banner(lines) or [line for line in lines if _TELLING.search(line)] or lines
    reason = "; ".join(telling[-_LINES:]) or "it printed nothing"
    # On a full disk the log has no room for the reason either.
    with suppress(OSError):
        if shutil.disk_usage(home).free < _NEARLY_FULL:
            reason += f"; the disk that holds {home} is full"
    return reason.rstrip(".")


def advise(reason: str, log_file: Path) -> str:
    """What to do about a server that did not start for that reason."""
    room = "Make room on the disk, or choose another with --data-dir. " if _FULL.search(reason) else ""
    return f"{room}The whole log is {log_file}."


def _banner(lines: list[str]) -> list[str]:
    """Valkey names bad settings and files in the lines below a line of this form."""
    at = [number for number, line in enumerate(lines) if line.startswith("*** FATAL")]
    return lines[at[-1] : at[-1] + _LINES] if at else []
