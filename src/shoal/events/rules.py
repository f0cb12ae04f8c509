"""Decisions of the room: what an answer means, whom a webhook may reach, how a message is signed."""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

from shoal.events.model import FailureKind
from shoal.runtime.errors import Invalid

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

NAT64 = IPv6Network("64:ff9b::/96")
SECRET_PREFIX = "whsec_"  # noqa: S105 - a prefix

THIS_EVENT = frozenset({400, 413, 414, 415, 422})
"""What says that the message itself will never be taken. Other refusals are about the place: a wrong
password or path is mended, and the event is still wanted."""
BUSY_OR_AWAY = frozenset({408, 425, 429, 502, 503, 504})


def meaning_of_status(status: int) -> FailureKind | None:
    """None for a success. A redirect is none: it could lead anywhere."""
    if 200 <= status < 300:
        return None
    if status in THIS_EVENT:
        return "refused"
    return "away" if status in BUSY_OR_AWAY else "failed"


def read_networks(texts: Sequence[str]) -> Sequence[Network]:
    try:
        return [ip_network(text) for text in texts]
    except ValueError as error:
        raise Invalid(
            "invalid_network", f"webhook_networks: {error}.", hint="Write networks as in 10.1.0.0/16."
        ) from error


def true_address(address: Address) -> Address:
    """The IPv4 address that an IPv6 address stands for, where it does."""
    if isinstance(address, IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if inner is None and address.teredo is not None:
            inner = address.teredo[1]
        if inner is None and address in NAT64:
            inner = IPv4Address(int(address) & 0xFFFFFFFF)
        return inner or address
    return address


def is_let_in(address: Address, networks: Sequence[Network]) -> bool:
    """Whether an operator named its network."""
    address = true_address(address)
    return any(address in network for network in networks if network.version == address.version)


def may_reach(address: Address, networks: Sequence[Network], *, is_encrypted: bool) -> bool:
    """A webhook reaches the public Internet with TLS, and what an operator named; nothing else."""
    if is_let_in(address, networks):
        return True
    inner = true_address(address)
    return is_encrypted and inner.is_global and not inner.is_multicast


def require_reachable(url: str, networks: Sequence[Network]) -> None:
    """Refuse at once what would be refused at each attempt, as far as the URL alone can tell."""
    parts = urlsplit(url)
    try:
        address: Address | None = ip_address(parts.hostname or "")
    except ValueError:
        address = None
    is_encrypted = parts.scheme == "https"
    if address is None and (is_encrypted or networks):
        return  # what its name means is looked at when it is told
    if address is None or not may_reach(address, networks, is_encrypted=is_encrypted):
        raise Invalid(
            "webhook_not_reachable",
            f"Webhooks may not go to {parts.scheme}://{parts.hostname}.",
            hint="Use https to a public address; an operator lets others in with webhook_networks.",
        )


def signature(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """As in the Standard Webhooks: ``v1,`` and the base64 of the HMAC-SHA256 of ``id.timestamp.body``."""
    signed = f"{message_id}.{timestamp}.".encode() + body
    try:
        key = base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
    except binascii.Error:
        key = secret.encode()
    return "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
