"""The node at the door of a sentinel: signed requests over HTTP."""

import platform
from collections.abc import Mapping
from importlib.metadata import version
from typing import TypeVar
from urllib.parse import urlsplit

import httpx
import msgspec

from shoal.node.identity import NodeIdentity
from shoal.runtime.answers import refusal, through_proxy
from shoal.runtime.errors import Unavailable
from shoal.wire.fleet import NodeToken, Register, Registered

TIMEOUT_S = 30.0
VERSION = f"shoal {version('shoal')}"
PLATFORM = f"{platform.system()} {platform.machine()}"

Answer = TypeVar("Answer")


class Door:
    """Raises the errors that the answers stand for, and ``Unavailable`` where there is none."""

    def __init__(self, url: str, identity: NodeIdentity) -> None:
        self.url = url.rstrip("/")
        self._identity = identity
        self._http = httpx.AsyncClient(timeout=TIMEOUT_S, trust_env=through_proxy(url))

    async def close(self) -> None:
        await self._http.aclose()

    async def register(self, name: str) -> Registered:
        """Who we are there; the same as before when this key is known."""
        said = Register(name=name, platform=PLATFORM, version=VERSION)
        return await self._ask("POST", "/nodes/register", Registered, msgspec.json.encode(said))

    async def issue_token(self) -> NodeToken:
        return await self._ask("POST", "/nodes/token", NodeToken)

    async def fetch_config(self, config_hash: str) -> bytes:
        return await self._send("GET", f"/config/{config_hash}")

    async def _ask(self, method: str, path: str, kind: type[Answer], body: bytes = b"") -> Answer:
        content = await self._send(method, path, body)
        try:
            return msgspec.json.decode(content, type=kind)
        except msgspec.DecodeError as error:
            raise Unavailable(
                "api_unreachable",
                f"What answers at {self._shown} is no sentinel: {error}.",
                hint="Look at the address that this node was given.",
            ) from error

    async def _send(self, method: str, path: str, body: bytes = b"") -> bytes:
        url = f"{self.url}{path}"
        headers: Mapping[str, str] = self._identity.sign(method, url, body)
        if body:
            headers = {**headers, "Content-Type": "application/json"}
        try:
            answer = await self._http.request(method, url, content=body, headers=headers)
        except httpx.HTTPError as error:
            why = str(error) or type(error).__name__
            raise Unavailable(
                "api_unreachable",
                f"The sentinel at {self._shown} does not answer: {why}.",
                hint="The node tries again until it does.",
            ) from error
        if not answer.is_success:
            raise refusal(answer.status_code, answer.content)
        return answer.content

    @property
    def _shown(self) -> str:
        return urlsplit(self.url).netloc or self.url
