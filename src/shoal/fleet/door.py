"""The door for nodes: who shows a key by signing with it may register, and get a token for the beacon.

A request passes once. Its nonce is kept in the brain, for all sentinels; while the brain does not answer,
nobody passes.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

import msgspec
import structlog
from redis.asyncio import Redis

from shoal.beacon.tokens import ConnectionTokens
from shoal.brain.scripts import load_scripts
from shoal.fleet.limits import ConnectionLimit
from shoal.fleet.store import sql
from shoal.ledger.pool import Ledger
from shoal.runtime import signatures
from shoal.runtime.clock import Clock
from shoal.runtime.errors import Forbidden, Invalid, Unauthenticated, Unavailable
from shoal.runtime.lifecycle import Part
from shoal.wire.fleet import NodeToken, Register, Registered, SignedBody

log = structlog.get_logger(__name__)

# A timestamp may be a minute ahead and is good for another one; the rest is for a server's clock that steps.
KEEP_MS = 3 * signatures.TOLERANCE_MS
CODE_LETTERS = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"
CODE_LENGTH = 12

Asked = TypeVar("Asked")

_scripts = load_scripts("shoal.fleet")


@dataclass(frozen=True, slots=True)
class Knock:
    """A request as it came in. ``headers`` by their names in small letters."""

    method: str
    host: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes
    address: str


class NodeDoor(Part):
    name = "door for nodes"

    def __init__(
        self,
        ledger: Ledger,
        client: Redis,
        clock: Clock,
        *,
        tokens: ConnectionTokens | None,
        limit: ConnectionLimit,
    ) -> None:
        self._ledger = ledger
        self._client = client
        self._clock = clock
        self._tokens = tokens
        self._limit = limit

    async def start(self) -> None:
        """From here on the brain remembers nonces; else it would only from the first request on."""
        await self._take_nonce(f"start:{secrets.token_hex(16)}", 0)

    async def register(self, knock: Knock) -> Registered:
        await self._limit.require(knock.address)
        key, rest = await self._key_and_rest(knock)
        said = _read(rest, Register)
        async with self._ledger.connection() as connection:
            row = await sql.register_node.row(
                connection,
                public_key=key,
                name=said.name,
                platform=said.platform,
                version=said.version,
                claim_code=new_claim_code(),
            )
        if row is None or row["is_revoked"]:
            raise _revoked()
        log.info("node registered", node=str(row["id"]), is_claimed=row["claim_code"] is None)
        return Registered(id=str(row["id"]), claim_code=row["claim_code"])

    async def issue_token(self, knock: Knock, *, url: str) -> NodeToken:
        await self._limit.require(knock.address)
        key, rest = await self._key_and_rest(knock)
        if rest:
            raise Invalid("invalid_request", "A request for a token has no body.")
        node_id = await self.node_with(key)
        if self._tokens is None:
            raise Unavailable(
                "beacon_not_configured",
                "This installation has no beacon, and so no fleet.",
                hint="Set SHOAL_CENTRIFUGO_TOKEN_SECRET on the sentinel.",
            )
        issued = self._tokens.issue_node(node_id, key)
        return NodeToken(jwt=issued.text, expires_at=int(issued.expires_at.timestamp()), url=url, id=node_id)

    async def node_behind(self, knock: Knock) -> str:
        """The node that signed this request in its headers."""
        key, request = self._signed_in_headers(knock)
        node_id = await self.node_with(key)  # first: a stranger must not fill the brain with nonces
        await self._use(key, request)
        return node_id

    async def node_with(self, key: bytes) -> str:
        async with self._ledger.connection() as connection:
            row = await sql.find_node.row(connection, public_key=key)
        if row is None:
            raise Unauthenticated(
                "node_unknown", "No node has registered with this key.", hint="POST /nodes/register first."
            )
        if row["is_revoked"]:
            raise _revoked()
        return str(row["id"])

    async def _key_and_rest(self, knock: Knock) -> tuple[bytes, bytes]:
        """Whose key it was signed with, and what the body says besides."""
        if signatures.SIGNATURE_HEADER.lower() in knock.headers:
            key, request = self._signed_in_headers(knock)
            await self._use(key, request)
            return key, knock.body
        signed = _read(knock.body, SignedBody, code="signature_missing")
        request = signatures.SignedRequest(
            method=knock.method,
            host=knock.host,
            path=knock.path,
            query=knock.query,
            timestamp=str(signed.timestamp),
            nonce=signed.nonce,
            body_hash=signatures.hash_body(b""),
        )
        version, signature = signatures.read_signature(signed.signature)
        key = signatures.read_bytes(signed.pubkey, signatures.KEY_BYTES)
        self._check(request, key, signature, version)
        await self._use(key, request)
        return key, b""

    def _signed_in_headers(self, knock: Knock) -> tuple[bytes, signatures.SignedRequest]:
        names = (
            signatures.KEY_HEADER,
            signatures.TIMESTAMP_HEADER,
            signatures.NONCE_HEADER,
            signatures.SIGNATURE_HEADER,
        )
        given = [knock.headers.get(name.lower(), "") for name in names]
        if not all(given):
            raise _missing()
        request = signatures.SignedRequest(
            method=knock.method,
            host=knock.host,
            path=knock.path,
            query=knock.query,
            timestamp=given[1],
            nonce=given[2],
            body_hash=signatures.hash_body(knock.body),
        )
        key = signatures.read_bytes(given[0], signatures.KEY_BYTES)
        version, signature = signatures.read_signature(given[3])
        self._check(request, key, signature, version)
        return key, request

    def _check(
        self,
        request: signatures.SignedRequest,
        key: bytes,
        signature: bytes,
        version: signatures.Version,
    ) -> None:
        signed = signatures.string_to_sign(request, version)
        now_ms = int(self._clock.now().timestamp() * 1000)
        if abs(now_ms - int(request.timestamp)) > signatures.TOLERANCE_MS:
            raise Unauthenticated(
                "signature_expired",
                "The request was signed more than a minute from now.",
                hint="Set the clock of this machine; a time server keeps it right.",
            )
        if not signatures.holds(key, signature, signed):
            raise Unauthenticated("signature_wrong", "The signature does not hold for this request and key.")

    async def _use(self, key: bytes, request: signatures.SignedRequest) -> None:
        """A request passes once."""
        answer = await self._take_nonce(f"{key.hex()}:{request.nonce.lower()}", int(request.timestamp))
        if answer == b"TOO_OLD":
            raise Unavailable(
                "nonces_forgotten",
                "The brain started after this was signed, so it cannot know whether it was used before.",
                hint="Sign again, with a new nonce and the time of now.",
            )
        if answer != b"OK":
            raise Unauthenticated(
                "signature_used",
                "A signature is good for one request.",
                hint="Sign again, with a new nonce and the time of now.",
            )

    async def _take_nonce(self, nonce: str, timestamp_ms: int) -> bytes:
        answer: bytes = await _scripts.take_nonce(
            self._client,
            keys={"nonce": f"nonce:{nonce}"},
            args={"timestamp_ms": timestamp_ms, "keep_ms": KEEP_MS},
        )
        return answer


def new_claim_code() -> str:
    """60 bits, in letters that are not mistaken for each other: ``ABCD-EFGH-JKLM``."""
    letters = "".join(secrets.choice(CODE_LETTERS) for _ in range(CODE_LENGTH))
    return "-".join(letters[at : at + 4] for at in range(0, CODE_LENGTH, 4))


def _read(body: bytes, kind: type[Asked], *, code: str = "invalid_request") -> Asked:
    try:
        return msgspec.json.decode(body or b"{}", type=kind)
    except msgspec.MsgspecError as error:
        if code == "signature_missing":
            raise _missing() from error
        raise Invalid(code, f"The body is not valid: {error}.") from error


def _missing() -> Unauthenticated:
    return Unauthenticated(
        "signature_missing",
        "The request is not signed.",
        hint=f"{signatures.SIGNATURE_HEADER} and its three neighbours carry the signature of a node.",
    )


def _revoked() -> Forbidden:
    return Forbidden(
        "node_revoked",
        "This node was revoked by its owner.",
        hint="Begin as a new node: delete its key file.",
    )
