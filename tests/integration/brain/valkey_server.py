"""A real Valkey (or Redis) for one test."""

import asyncio
import socket
from pathlib import Path

from shoal.local.binaries import valkey_binary

DEADLINE_S = 10


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class ValkeyServer:
    """``restart`` kills it without a warning and starts it anew, empty."""

    def __init__(self, folder: Path, *, url: str, arguments: list[str]) -> None:
        self.folder = folder
        self.url = url
        self._arguments = arguments
        self.binary = valkey_binary()
        self._process: asyncio.subprocess.Process | None = None

    @classmethod
    def on_socket(cls, folder: Path, *extra: str) -> "ValkeyServer":
        path = folder / "valkey.sock"
        arguments = ["--port", "0", "--unixsocket", str(path), "--save", "", *extra]
        return cls(folder, url=f"unix://{path}", arguments=arguments)

    @classmethod
    def on_port(cls, folder: Path, port: int, *arguments: str) -> "ValkeyServer":
        return cls(
            folder,
            url=f"redis://127.0.0.1:{port}",
            arguments=[*arguments, "--port", str(port), "--bind", "127.0.0.1"],
        )

    async def start(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            str(self.binary),
            *self._arguments,
            cwd=self.folder,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            async with asyncio.timeout(DEADLINE_S):
                while not await self._answers():
                    assert self._process.returncode is None, "valkey-server ended at once"
                    await asyncio.sleep(0.01)
        except BaseException:
            await self.stop()
            raise

    async def _answers(self) -> bool:
        place = self.url.partition("://")[2]
        try:
            if self.url.startswith("unix://"):
                reader, writer = await asyncio.open_unix_connection(place)
            else:
                host, _, port = place.partition(":")
                reader, writer = await asyncio.open_connection(host, int(port))
        except OSError:
            return False
        writer.write(b"PING\r\n")
        answer = await reader.readline()
        writer.close()
        # A server that asks for a password is ready too.
        return answer.startswith((b"+PONG", b"-NOAUTH"))

    async def stop(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()

    async def restart(self) -> None:
        await self.stop()
        await self.start()
