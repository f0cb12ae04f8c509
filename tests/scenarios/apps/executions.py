"""Every execution of a task writes a line of its own, in a file per process.

An appended line is in the kernel once ``write`` returns: it survives ``kill -9`` of the writer.
"""

import os
import uuid
from functools import cache
from pathlib import Path
from uuid import UUID

from shoal import Context


def record_execution(context: Context) -> str:
    """Write the line; returns the mark of this execution, which belongs into the task's output."""
    mark = uuid.uuid4().hex
    os.write(_file(os.getpid()), f"{context.task_id} {context.attempt} {mark}\n".encode())
    return mark


def read_executions(folder: Path) -> dict[str, UUID]:
    """The task of each execution, by the mark."""
    found: dict[str, UUID] = {}
    for file in folder.iterdir():
        for line in file.read_text(encoding="ascii").splitlines():
            task_id, _, mark = line.split()
            found[mark] = UUID(task_id)
    return found


@cache
def _file(pid: int) -> int:
    path = Path(os.environ["SCENARIO_EXECUTIONS"], f"{pid}.txt")
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
