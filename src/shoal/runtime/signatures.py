"""Signed requests: what a node signs, and when a signature holds. Pure, the same on both sides.

Two strings can be signed. ``X-Shoal-Signature: v2=<hex>`` is over the lines ::

    shoal-2
    <method>
    <host>
    <path>
    <query>
    <timestamp>
    <nonce>
    <body_hash>

A signature without a prefix is of version 1, ``method|path|timestamp|nonce|body_hash``. It says neither to
whom the request goes nor what its query is, so a request with a query cannot be signed with it.

No field can hold what separates it from the next, so no two requests share a string. The timestamp is in
milliseconds since 1970, the nonce a UUID that is used once, the body's hash its SHA-256 in hex.
"""

import base64
import binascii
import hashlib
import re
from dataclasses import astuple, dataclass
from typing import Literal

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from shoal.runtime.errors import Unauthenticated

KEY_HEADER = "X-Shoal-Key"
TIMESTAMP_HEADER = "X-Shoal-Timestamp"
NONCE_HEADER = "X-Shoal-Nonce"
SIGNATURE_HEADER = "X-Shoal-Signature"

TOLERANCE_MS = 60_000
"""How far a timestamp may be from the server's clock, in either direction."""

KEY_BYTES = 32
SIGNATURE_BYTES = 64

Version = Literal[1, 2]
VERSION_2 = "v2="

FIELDS = {
    "method": re.compile(r"[A-Z]{1,16}"),
    "host": re.compile(r"[a-z0-9._\-\[\]:]{1,255}"),
    "path": re.compile(r"/[!-\"$->@-{}~]*"),  # what is printable, without '#', '?' and '|'
    "query": re.compile(r"[!-\"$-~]*"),  # the same without '#' alone
    "timestamp": re.compile(r"[1-9][0-9]{0,14}"),
    "nonce": re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"),
    "body_hash": re.compile(r"[0-9a-f]{64}"),
}

# RFC 8032 leaves open what verifiers do about these keys; here they are nobody's. Under one of small
# order a signature can hold for many messages; one above the field is a second spelling of another.
FIELD = 2**255 - 19
SMALL_ORDER = {
    0,
    1,
    FIELD - 1,
    0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826,
    0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7,
}


@dataclass(frozen=True, slots=True)
class SignedRequest:
    """What is signed of a request, in this order; path and query as they are sent, the host in lower case."""

    method: str
    host: str
    path: str
    query: str
    timestamp: str
    nonce: str
    body_hash: str


def string_to_sign(request: SignedRequest, version: Version) -> bytes:
    """What a signature is over; raises ``Unauthenticated`` for a request that has no such string."""
    for name, form in FIELDS.items():
        if not form.fullmatch(getattr(request, name)):
            raise signature_malformed(f"its {name.replace('_', ' ')} is not of the form that is signed")
    if version == 1:
        if request.query:
            raise signature_malformed("version 1 does not cover the query of a request")
        fields = (request.method, request.path, request.timestamp, request.nonce, request.body_hash)
        return "|".join(fields).encode()
    return "\n".join(("shoal-2", *astuple(request))).encode()


def hash_body(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def read_signature(text: str) -> tuple[Version, bytes]:
    """What stands in ``X-Shoal-Signature``."""
    version: Version = 2 if text.startswith(VERSION_2) else 1
    return version, read_bytes(text.removeprefix(VERSION_2), SIGNATURE_BYTES)


def read_bytes(text: str, length: int) -> bytes:
    """A key or a signature, in hex or in base64."""
    try:
        found = (
            bytes.fromhex(text)
            if len(text) == 2 * length
            else base64.b64decode(text.encode("ascii"), validate=True)
        )
    except (ValueError, binascii.Error):
        found = b""
    if len(found) != length:
        raise signature_malformed(f"a key or a signature of {length} bytes is in hex or in base64")
    return found


def is_strict_key(public_key: bytes) -> bool:
    """Whether these 32 bytes can be somebody's key: written in the one way, and of no small order."""
    y = int.from_bytes(public_key, "little") & (2**255 - 1)
    return len(public_key) == KEY_BYTES and y < FIELD and y not in SMALL_ORDER


def holds(public_key: bytes, signature: bytes, signed: bytes) -> bool:
    """Whether the owner of the key signed this. OpenSSL refuses every second spelling of a signature."""
    if not is_strict_key(public_key):
        return False
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, signed)
    except (InvalidSignature, ValueError):
        return False
    return True


def signature_malformed(why: str) -> Unauthenticated:
    return Unauthenticated(
        "signature_malformed",
        f"The signature cannot be read: {why}.",
        hint="docs/explanation/security.md says what a node signs.",
    )
