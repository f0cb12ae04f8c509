"""Who a node is: an Ed25519 key in a file of its own, and the headers it signs requests with."""

import os
from collections.abc import Mapping
from pathlib import Path
from tempfile import NamedTemporaryFile
from urllib.parse import urlsplit
from uuid import uuid4

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from shoal.runtime.clock import Clock, SystemClock
from shoal.runtime.errors import Invalid
from shoal.runtime.signatures import (
    KEY_BYTES,
    KEY_HEADER,
    NONCE_HEADER,
    SIGNATURE_HEADER,
    TIMESTAMP_HEADER,
    VERSION_2,
    SignedRequest,
    hash_body,
    string_to_sign,
)

DEFAULT_PORTS = {"http": 80, "https": 443}
FOR_ITS_USER_ALONE = 0o600


class NodeIdentity:
    def __init__(self, key: Ed25519PrivateKey, clock: Clock | None = None) -> None:
        self._key = key
        self._clock = clock or SystemClock()
        self.public_key = key.public_key().public_bytes_raw()

    def __repr__(self) -> str:
        return f"NodeIdentity({self.public_key.hex()})"

    def sign(self, method: str, url: str, body: bytes = b"") -> Mapping[str, str]:
        """The headers that make this request the node's own. They are good for one request."""
        asked = urlsplit(url)
        request = SignedRequest(
            method=method,
            host=host_of(url),
            path=asked.path or "/",
            query=asked.query,
            timestamp=str(int(self._clock.now().timestamp() * 1000)),
            nonce=str(uuid4()),
            body_hash=hash_body(body),
        )
        signature = self._key.sign(string_to_sign(request, 2))
        return {
            KEY_HEADER: self.public_key.hex(),
            TIMESTAMP_HEADER: request.timestamp,
            NONCE_HEADER: request.nonce,
            SIGNATURE_HEADER: VERSION_2 + signature.hex(),
        }


def open_identity(file: Path, clock: Clock | None = None) -> NodeIdentity:
    """The identity that is kept in this file; made when there is none."""
    if not file.exists():
        _keep(Ed25519PrivateKey.generate(), file)
    if file.stat().st_mode & 0o077:
        raise Invalid(
            "node_key_exposed",
            f"Others on this machine can read the node's key in {file}.",
            hint=f"Run 'chmod 600 {file}', or delete it to begin as a new node.",
        )
    try:
        seed = bytes.fromhex(file.read_text(encoding="ascii"))
        return NodeIdentity(Ed25519PrivateKey.from_private_bytes(seed), clock)
    except ValueError:
        raise Invalid(
            "node_key_damaged",
            f"The node's key in {file} is not one: it holds {KEY_BYTES} bytes in hex.",
            hint="Restore it from a copy, or delete it to begin as a new node.",
        ) from None


def host_of(url: str) -> str:
    """The Host header that goes with a URL: in small letters, without a port that is the usual one."""
    asked = urlsplit(url)
    name = asked.hostname or ""
    name = f"[{name}]" if ":" in name else name
    usual = asked.port is None or asked.port == DEFAULT_PORTS.get(asked.scheme)
    return name if usual else f"{name}:{asked.port}"


def _keep(key: Ed25519PrivateKey, file: Path) -> None:
    """Whole or not at all, and never over a key that somebody else put there meanwhile."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile("w", dir=file.parent, encoding="ascii") as written:  # made with mode 600
        os.fchmod(written.fileno(), FOR_ITS_USER_ALONE)
        written.write(key.private_bytes_raw().hex())
        written.flush()
        os.fsync(written.fileno())
        try:
            os.link(written.name, file)
        except FileExistsError:
            return
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
