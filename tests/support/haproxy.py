"""A real HAProxy in front of several HTTP servers: who does not answer at ``/status`` gets no requests."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from shoal.roles.up import free_port

from .generations import absent

CONFIGURATION = """
global
  nosplice
defaults
  mode http
  timeout connect 1s
  timeout client 60s
  timeout server 60s
  option redispatch
  retries 2
frontend front
  bind 127.0.0.1:{port}
  default_backend members
backend members
  balance roundrobin
  option httpchk GET /status
  default-server check inter 200ms fall 2 rise 1 on-marked-down shutdown-sessions
"""


def haproxy_binary() -> Path:
    found = shutil.which("haproxy", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
    if found is None:
        raise absent("haproxy", "it is not on this machine; on Debian: apt-get install haproxy")
    return Path(found)


class HaProxy:
    def __init__(self, folder: Path, ports: Sequence[int], *, port: int | None = None) -> None:
        self.port = port or free_port("127.0.0.1")
        self.url = f"http://127.0.0.1:{self.port}"
        members = [f"  server member-{member} 127.0.0.1:{member}" for member in ports]
        self._file = folder / "haproxy.cfg"
        self._file.write_text(CONFIGURATION.format(port=self.port) + "\n".join(members) + "\n")
        self._log_file = folder / "haproxy.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._log_file.open("wb") as log:
            self._process = subprocess.Popen(
                [haproxy_binary(), "-db", "-f", self._file],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
