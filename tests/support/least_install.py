"""What ``pip install shoal`` brings, without any extra: the same files as here, and no others."""

import re
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

from tests.architecture.repository import ROOT


def make_least_install(folder: Path) -> Path:
    """A folder for ``PYTHONPATH`` (with ``python -S``): our sources, and links to what they require."""
    folder.mkdir()
    (folder / "shoal").symlink_to(ROOT / "src" / "shoal")
    for name in ["shoal", *sorted(_required("shoal"))]:
        found = distribution(name)
        for file in found.files or []:
            source = Path(str(found.locate_file(file)))
            if ".." not in file.parts and file.suffix not in {".pth", ".pyc"} and source.exists():
                link = folder / file
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(source)
    return folder


def _required(name: str, extras: frozenset[str] = frozenset(), *, seen: set[str] | None = None) -> set[str]:
    seen = set() if seen is None else seen
    for wanted in _requirements(distribution(name), extras):
        key = re.sub(r"[-_.]+", "-", wanted.name).lower()
        if key not in seen:
            seen.add(key)
            try:
                _required(key, frozenset(wanted.extras), seen=seen)
            except PackageNotFoundError:
                seen.discard(key)
    return seen


def _requirements(found: Distribution, extras: frozenset[str]) -> Iterator[Requirement]:
    for text in found.requires or []:
        wanted = Requirement(text)
        if wanted.marker is None or any(wanted.marker.evaluate({"extra": one}) for one in {"", *extras}):
            yield wanted
