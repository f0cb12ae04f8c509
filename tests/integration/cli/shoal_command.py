"""The command ``shoal`` as a person runs it: a process of its own, with nothing inherited but PATH."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[3]
TIMEOUT_S = 60


@dataclass
class Shoal:
    """One data directory, and the environment its commands run in."""

    data_dir: Path
    environment: dict[str, str] = field(default_factory=dict)

    def run(self, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "shoal", *arguments, "--data-dir", str(self.data_dir)],
            cwd=REPOSITORY,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(self.data_dir.parent),
                **self.environment,
                **environment,
            },
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )

    def ok(self, *arguments: str, **environment: str) -> str:
        done = self.run(*arguments, **environment)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def json(self, *arguments: str) -> Any:
        return json.loads(self.ok(*arguments, "--json"))

    def up(self, *arguments: str) -> str:
        """Start everything in the background; returns the URL of the API."""
        return self.ok("up", "--detach", "--port", "0", *arguments).split()[-1]

    def down(self) -> None:
        self.ok("down")


def refused(done: "subprocess.CompletedProcess[str]", *, code: str, exit_code: int) -> str:
    """One clear message: what was wrong, what to do, the code; no traceback. Returns what was said."""
    assert done.returncode == exit_code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert "Warning" not in done.stderr
    assert done.stderr.rstrip().endswith(f"({code})"), done.stderr
    assert done.stderr.count("error:") == 1, done.stderr
    return done.stderr
