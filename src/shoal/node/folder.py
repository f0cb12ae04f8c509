"""The folder of a node: all that it keeps, for one process at a time."""

import fcntl
import os
import time
from pathlib import Path

from shoal.runtime.errors import Conflict, Invalid

LOOK_EVERY_S = 0.05


class NodeFolder:
    def __init__(self, path: Path) -> None:
        self.path = path.expanduser().resolve()
        self.key = self.path / "key"
        self.results = self.path / "results"
        self.configs = self.path / "configs"
        self._lock = -1

    def hold(self, *, patience_s: float = 0.0) -> None:
        """Until ``release`` or the end of the process. With patience, whoever has it is given time to end."""
        try:
            for folder in (self.path, self.results, self.configs):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise Invalid(
                "node_dir_unusable",
                f"The node cannot keep its things in {self.path}: {error.strerror}.",
                hint="Choose another folder with --dir.",
            ) from error
        deadline = time.monotonic() + patience_s
        while not _locked(lock):
            if time.monotonic() > deadline:
                os.close(lock)
                raise Conflict(
                    "node_running",
                    f"A node runs already in {self.path}.",
                    hint="End it first, or give a second node a folder of its own with --dir.",
                )
            time.sleep(LOOK_EVERY_S)
        self._lock = lock

    def release(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def _locked(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
