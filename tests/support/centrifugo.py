"""A real Centrifugo, built once from its published source into the user's cache, on loopback.

``python -m tests.support.centrifugo`` builds it where Go is present; ``tests/prepare`` calls that.
"""

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx

from .generations import absent, not_to_be_had

VERSION = "v6.9.1"
MODULE = f"github.com/centrifugal/centrifugo/v6@{VERSION}"
BUILD_S = 900
REFUSED = "403 Forbidden"
READY_S = 20.0
END_S = 5.0


def centrifugo_folder() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME", ""))
    cache = cache if cache.is_absolute() else Path.home() / ".cache"
    return cache / "shoal" / "centrifugo" / VERSION


def centrifugo_binary() -> Path:
    binary = centrifugo_folder() / "centrifugo"
    if binary.is_file():
        return binary
    if refusal_file().is_file():
        raise not_to_be_had(f"Centrifugo {VERSION}", refusal_file().read_text())
    raise absent(f"Centrifugo {VERSION}", "tests/prepare builds it where Go is present")


def refusal_file() -> Path:
    """Says what the module proxy would not give, if that is why there is no Centrifugo."""
    return centrifugo_folder() / "refused"


def build() -> None:
    """Raises ``OSError`` or ``subprocess.SubprocessError`` where that cannot be done."""
    folder = centrifugo_folder()
    if (folder / "centrifugo").is_file():
        return
    refusal_file().unlink(missing_ok=True)
    go = shutil.which("go")
    if go is None:
        raise FileNotFoundError("Go is not on PATH")
    folder.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "GOBIN": str(folder), "CGO_ENABLED": "0"}
    command = [go, "install", MODULE]
    built = subprocess.run(
        command, check=False, timeout=BUILD_S, env=environment, stderr=subprocess.PIPE, text=True
    )
    sys.stderr.write(built.stderr)
    if REFUSED in built.stderr:
        refusal_file().write_text(f"the module proxy refuses a module that {MODULE} needs ({REFUSED})")
    built.check_returncode()


def check_configuration(file: Path, environment: Mapping[str, str]) -> None:
    """Raises when it has a key that Centrifugo does not know."""
    command = [str(centrifugo_binary()), "checkconfig", "--strict", "-c", str(file)]
    checked = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert checked.returncode == 0, checked.stdout + checked.stderr


class Centrifugo:
    """``start``, ``stop`` and ``kill`` it; the port stays the same."""

    def __init__(
        self,
        folder: Path,
        configuration: Mapping[str, Any],
        *,
        api_key: str,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._environment = {**os.environ, **(environment or {})}
        self.port = _free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.client_url = f"ws://127.0.0.1:{self.port}/connection/websocket"
        self._log_file = folder / "centrifugo.log"
        self._file = folder / "centrifugo.json"
        self._file.write_text(
            json.dumps(
                {
                    **configuration,
                    "http_server": {"address": "127.0.0.1", "port": self.port},
                    "http_api": {"key": api_key},
                    "health": {"enabled": True},
                    "usage_stats": {"disabled": True},  # it would tell its makers
                }
            )
        )
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def check_configuration(self) -> None:
        check_configuration(self._file, self._environment)

    async def start(self) -> None:
        self._launch()
        async with asyncio.timeout(READY_S), httpx.AsyncClient(trust_env=False) as client:
            assert self._process is not None
            while not await self._answers(client):
                assert self._process.poll() is None, self._log_file.read_text()
                await asyncio.sleep(0.02)

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(END_S)
            except subprocess.TimeoutExpired:
                self.kill()

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def _launch(self) -> None:
        with self._log_file.open("ab") as log:
            self._process = subprocess.Popen(
                [str(centrifugo_binary()), "-c", str(self._file)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self._file.parent,
                env=self._environment,
            )

    async def _answers(self, client: httpx.AsyncClient) -> bool:
        try:
            return (await client.get(f"{self.url}/health")).status_code == 200
        except httpx.TransportError:
            return False


def _free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


if __name__ == "__main__":
    try:
        build()
    except (OSError, subprocess.SubprocessError) as error:
        sys.exit(f"Centrifugo {VERSION} is missing ({error}). The tests that need it are skipped, by name.")
