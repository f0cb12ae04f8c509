"""What belongs to the repository: what git tracks, and what it would track next."""

import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "shoal"


@cache
def repository_files() -> tuple[Path, ...]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return tuple(file for name in listed.split("\0") if name and (file := ROOT / name).is_file())


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def files_of_package(*endings: str) -> list[Path]:
    """Files below ``src/shoal`` that people write: generated code is nobody's style."""
    return [
        file
        for file in repository_files()
        if PACKAGE in file.parents and file.suffix in endings and "_generated" not in file.parts
    ]


def lines_of(file: Path) -> int:
    return file.read_bytes().count(b"\n")
