"""Memory of a process and everything below it, shared pages counted once (proportional set size)."""

from contextlib import suppress
from pathlib import Path

import psutil


def pss_mb_by_name(pid: int) -> dict[str, float]:
    """The megabytes (10^6 bytes) of each kind of process in the tree."""
    found: dict[str, float] = {}
    root = psutil.Process(pid)
    for process in (root, *root.children(recursive=True)):
        with suppress(psutil.NoSuchProcess, FileNotFoundError, ProcessLookupError):
            name = _kind(process)
            found[name] = found.get(name, 0.0) + _pss_bytes(process.pid) / 1e6
    return found


def _kind(process: psutil.Process) -> str:
    arguments = process.cmdline()
    if "-m" in arguments:
        return " ".join(arguments[arguments.index("-m") + 1 :][:2])
    return process.name()


def _pss_bytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return 0
