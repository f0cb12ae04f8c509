"""Tickets: what a coordinator signs so that one server may copy one shard from another, for a short while.

A ticket is msgpack followed by an Ed25519 signature of 64 bytes. Who uploads needs the public key alone, so a
server that was taken over can make no tickets. It binds shard, job, both ends and the attempt. It does not
prove who shows it: whoever reads one off the wire can use it until it ends, hence TLS between strangers.
"""

import hashlib
from typing import Annotated

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from shoal.runtime.errors import Forbidden

SIGNATURE_BYTES = 64
LARGEST = 4096
PURPOSE = b"shoal-mesh-ticket-1\0"


class Ticket(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    job_id: str
    shard_id: int
    shard_hash: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
    uploader: str
    downloader: str
    task_id: str
    expires_ms: int


class TicketSigner:
    """The key follows from a secret: a coordinator that starts anew makes tickets that are good at once."""

    def __init__(self, secret: str) -> None:
        seed = hashlib.blake2b(secret.encode(), digest_size=32, person=b"mesh tickets").digest()
        self._key = Ed25519PrivateKey.from_private_bytes(seed)
        self.public_key = self._key.public_key().public_bytes_raw()

    def sign(self, ticket: Ticket) -> bytes:
        body = msgspec.msgpack.encode(ticket)
        return body + self._key.sign(PURPOSE + body)


def read_ticket(shown: bytes, *, public_key: bytes, uploader: str, now_ms: int) -> Ticket:
    """What the ticket allows; raises ``Forbidden`` when it is not for this uploader, or not good any more."""
    if not SIGNATURE_BYTES < len(shown) <= LARGEST:
        raise _refused("ticket_invalid", "There is no ticket, or it is none of ours.")
    body, signature = shown[:-SIGNATURE_BYTES], shown[-SIGNATURE_BYTES:]
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, PURPOSE + body)
        ticket = msgspec.msgpack.decode(body, type=Ticket)
    except (InvalidSignature, ValueError, msgspec.DecodeError):
        raise _refused("ticket_invalid", "The ticket was not made by our coordinator.") from None
    if ticket.uploader != uploader:
        raise _refused("ticket_invalid", "The ticket is for another server.")
    if now_ms >= ticket.expires_ms:
        raise _refused("ticket_expired", "The ticket has ended.")
    return ticket


def _refused(code: str, message: str) -> Forbidden:
    return Forbidden(code, message, hint="Ask the coordinator for work again.")
