"""The public keys of a login server: fetched when first needed, kept, asked for again when a token
names one we do not know.

* Not more often than every 30 s, whoever asks: a forged key id costs the login server nothing.
* A key that was withdrawn there is forgotten here within ten minutes. While the server does not
  answer, the keys we have go on.
* A key serves one algorithm, the one of its type. Secrets (``oct``) in a key set are ignored.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

import httpx
import jwt
import msgspec
import structlog

from shoal.runtime.clock import Clock
from shoal.runtime.errors import Unavailable

log = structlog.get_logger(__name__)

REFRESH_AT_MOST_EVERY_S = 30.0
KEEP_FOR_S = 600.0
TIMEOUT_S = 5.0
LARGEST_BYTES = 256 * 1024

ALGORITHM_OF = {("RSA", None): "RS256", ("EC", "P-256"): "ES256", ("OKP", "Ed25519"): "EdDSA"}
ALGORITHMS = frozenset(ALGORITHM_OF.values())


class KeySet(msgspec.Struct, frozen=True):
    keys: list[dict[str, Any]]


class Jwks:
    def __init__(self, url: str, clock: Clock) -> None:
        self._url = url
        self._clock = clock
        self._keys: Mapping[str, jwt.PyJWK] = {}
        self._fetched_at: float | None = None
        self._tried_at: float | None = None
        self._failed = False
        self._fetching = asyncio.Lock()

    async def find(self, key_id: str) -> jwt.PyJWK | None:
        """The key of that id, or None when the login server has none."""
        if key_id in self._keys and not self._is_past(self._fetched_at, KEEP_FOR_S):
            return self._keys[key_id]
        async with self._fetching:
            if self._is_past(self._tried_at, REFRESH_AT_MOST_EVERY_S):
                await self._refresh()
        key = self._keys.get(key_id)
        if key is None and self._failed:
            raise Unavailable(
                "jwks_unreachable",
                "The server that signs the tokens does not answer.",
                hint="Try again soon. If it goes on, check SHOAL_JWKS_URL.",
            )
        return key

    def _is_past(self, moment: float | None, seconds: float) -> bool:
        return moment is None or self._clock.monotonic() - moment >= seconds

    async def _refresh(self) -> None:
        self._tried_at = self._clock.monotonic()
        try:
            keys = usable_keys(await self._fetch())
        except (httpx.HTTPError, httpx.InvalidURL, msgspec.MsgspecError) as error:
            self._failed = True
            log.warning("key set not fetched", url=self._url, error=str(error) or repr(error))
            return
        self._keys, self._failed = keys, False
        self._fetched_at = self._clock.monotonic()
        log.debug("key set fetched", keys=len(keys))

    async def _fetch(self) -> KeySet:
        body = b""
        async with (
            httpx.AsyncClient(timeout=TIMEOUT_S) as client,
            client.stream("GET", self._url) as response,
        ):
            response.raise_for_status()
            async for piece in response.aiter_bytes():
                body += piece
                if len(body) > LARGEST_BYTES:
                    raise httpx.DecodingError(f"the key set is over {LARGEST_BYTES} bytes")
        return msgspec.json.decode(body, type=KeySet)


def usable_keys(key_set: KeySet) -> dict[str, jwt.PyJWK]:
    """The signing keys by id, each bound to the algorithm of its type; others are passed over."""
    found = {}
    for entry in key_set.keys:
        key_id = entry.get("kid")
        curve = None if entry.get("kty") == "RSA" else entry.get("crv")
        algorithm = ALGORITHM_OF.get((str(entry.get("kty")), curve))
        if not isinstance(key_id, str) or algorithm is None:
            continue
        if entry.get("use", "sig") != "sig" or entry.get("alg", algorithm) != algorithm:
            continue
        try:
            found[key_id] = jwt.PyJWK.from_dict(entry, algorithm=algorithm)
        except (jwt.PyJWTError, ValueError, TypeError) as error:
            log.warning("key in the key set not usable", key_id=key_id, error=str(error))
    return found
