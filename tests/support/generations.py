"""The oldest and the newest servers Shoal works with, and where their programs are.

A test that asks for a database or a brain runs once on each generation; ``newest_servers`` marks one
that says nothing about SQL or Lua and runs on the newest only.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from shoal.local.binaries import postgres_binaries, postgres_major, valkey_binary
from shoal.runtime.errors import Invalid

POSTGRES_GENERATIONS = ("postgres-18", "postgres-15")
VALKEY_GENERATIONS = ("valkey-9", "redis-7")
DEBIANS_POSTGRES = Path("/usr/lib/postgresql/15/bin")


def run_on_each_generation(metafunc: pytest.Metafunc) -> None:
    """Parametrise a test by what it asks for; one that asks for both gets both old or both new."""
    if metafunc.definition.get_closest_marker("newest_servers"):
        return
    choices = {"postgres_generation": POSTGRES_GENERATIONS, "valkey_generation": VALKEY_GENERATIONS}
    asked = [name for name in choices if name in metafunc.fixturenames]
    if asked:
        pairs = list(zip(*(choices[name] for name in asked), strict=True))
        metafunc.parametrize(asked, pairs, indirect=True, ids=["-".join(pair) for pair in pairs])


def binaries_of_postgres(generation: str) -> Path:
    major = int(generation.removeprefix("postgres-"))
    try:
        found = postgres_binaries() if generation == POSTGRES_GENERATIONS[0] else DEBIANS_POSTGRES
        if (found / "postgres").is_file() and postgres_major(found) == major:
            return found
    except Invalid as error:
        raise absent(generation, str(error)) from error
    raise absent(generation, f"there is none in {found}; on Debian: apt-get install postgresql-{major}")


def binary_of_valkey(generation: str) -> Path:
    name, _, major = generation.partition("-")
    try:
        found = valkey_binary() if name == "valkey" else _on_path("redis-server")
        about = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout
    except (Invalid, FileNotFoundError) as error:
        raise absent(generation, str(error)) from error
    if about.lower().startswith(name) and f" v={major}." in about:
        return found
    raise absent(generation, f"{found} is {about.strip()}")


def _on_path(program: str) -> Path:
    found = shutil.which(program)
    if found is None:
        raise FileNotFoundError(f"there is no {program} on PATH; on Debian: apt-get install {program}")
    return Path(found)


def absent(generation: str, why: str) -> BaseException:
    """What ends a test that cannot run here. CI must not pass by leaving tests out."""
    if os.environ.get("CI") == "true":
        return pytest.fail.Exception(f"{generation} is missing, and CI=true: {why}", pytrace=False)
    return pytest.skip.Exception(f"{generation} is missing: {why}")


def not_to_be_had(what: str, why: str) -> BaseException:
    """What ends a test of something that a registry refuses to give to this machine, CI or not: nothing in
    the repository can change that.
    """
    return pytest.skip.Exception(f"{what} is not to be had here: {why}")
