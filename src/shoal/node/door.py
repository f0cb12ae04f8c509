"""The node at the door of a sentinel: signed requests over HTTP."""

import platform
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from importlib.metadata import version
from typing import TypeVar
from urllib.parse import urlsplit

import httpx
import msgspec
import structlog

from shoal.node.identity import NodeIdentity
from shoal.runtime.answers import refusal, through_proxy
from shoal.runtime.clock import Clock
from shoal.runtime.errors import Unavailable
from shoal.wire.fleet import NodeToken, Register, Registered

TIMEOUT_S = 30.0
VERSION = f"shoal {version('shoal')}"
PLATFORM = f"{platform.system()} {platform.machine()}"

CLOCK_WRONG = "signature_expired"

Answer = TypeVar("Answer")

log = structlog.get_logger(__name__)


class ServersClock:
    """The clock of this machine, until a server says that it is wrong: what is signed must hold there."""

    def __init__(self, own: Clock) -> None:
        self._own = own
        self._ahead = timedelta()

    def now(self) -> datetime:
        return self._own.now() + self._ahead

    def monotonic(self) -> float:
        return self._own.monotonic()

    def learn(self, date: str) -> bool:
        """``date`` as the server wrote it; whether it can be read."""
        try:
            moment = parsedate_to_datetime(date).replace(tzinfo=UTC)
        except ValueError:
            return False
        self._ahead = moment - self._own.now()
        log.warning("clock of this machine is wrong", seconds=round(self._ahead.total_seconds()))
        return True


class Door:
    """Raises the errors that the answers stand for, and ``Unavailable`` where there is none.

    ``clock`` is the one that ``identity`` signs by.
    """

    def __init__(self, url: str, identity: NodeIdentity, clock: ServersClock) -> None:
        self.url = url.rstrip("/")
        self._identity = identity
        self._clock = clock
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
        answer = await self._signed(method, path, body)
        if answer.is_success:
            return answer.content
        error = refusal(answer.status_code, answer.content)
        if error.code == CLOCK_WRONG and self._clock.learn(answer.headers.get("date", "")):
            answer = await self._signed(method, path, body)
        if not answer.is_success:
            raise refusal(answer.status_code, answer.content)
        return answer.content

    async def _signed(self, method: str, path: str, body: bytes) -> httpx.Response:
        url = f"{self.url}{path}"
        headers: Mapping[str, str] = self._identity.sign(method, url, body)
        if body:
            headers = {**headers, "Content-Type": "application/json"}
        try:
            return await self._http.request(method, url, content=body, headers=headers)
        except httpx.HTTPError as error:
            why = str(error) or type(error).__name__
            raise Unavailable(
                "api_unreachable",
                f"The sentinel at {self._shown} does not answer: {why}.",
                hint="The node tries again until it does.",
            ) from error

    @property
    def _shown(self) -> str:
        return urlsplit(self.url).netloc or self.url
