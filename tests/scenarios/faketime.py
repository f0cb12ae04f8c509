"""Processes whose wall clock is wrong, by libfaketime: found on this machine, or fetched from Debian."""

import subprocess
import tempfile
from functools import cache
from pathlib import Path

CACHE = Path.home() / ".cache" / "shoal" / "faketime"
PLACES = (Path("/usr/lib"), CACHE)
LIBRARY = "faketime/libfaketime.so.1"


def with_wrong_clock(offset_s: int) -> dict[str, str] | None:
    """The environment of a process whose wall clock is off by so much; durations stay right.

    None where there is no libfaketime, and none can be fetched.
    """
    library = find_library()
    if library is None:
        return None
    return {
        "LD_PRELOAD": str(library),
        "FAKETIME": f"{offset_s:+d}s",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "FAKETIME_NO_CACHE": "0",
    }


@cache
def find_library() -> Path | None:
    return _installed() or (_installed() if _fetch() else None)


def _installed() -> Path | None:
    for place in PLACES:
        for found in (*place.glob(LIBRARY), *place.glob(f"*/{LIBRARY}"), *place.glob(f"**/{LIBRARY}")):
            return found
    return None


def _fetch() -> bool:
    """Unpacked for this user; nothing is installed."""
    with tempfile.TemporaryDirectory() as name:
        try:
            subprocess.run(["apt-get", "download", "libfaketime"], cwd=name, check=True, capture_output=True)
            (package,) = Path(name).glob("*.deb")
            CACHE.mkdir(parents=True, exist_ok=True)
            subprocess.run(["dpkg-deb", "-x", str(package), str(CACHE)], check=True, capture_output=True)
        except (OSError, ValueError, subprocess.CalledProcessError):
            return False
    return True
