"""Connection tokens: JWTs (HS256) that say who a client is, the same for Centrifugo and for the hub."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import jwt
import msgspec

from shoal.beacon.model import Cut, DisconnectCode, ErrorCode, Identity, Refused
from shoal.runtime.clock import Clock
from shoal.runtime.errors import Invalid

ALGORITHM = "HS256"
SHORTEST_SECRET = 32

LIFETIMES: Mapping[str, timedelta] = {"node": timedelta(minutes=15), "portal": timedelta(hours=1)}


class Claims(msgspec.Struct, frozen=True, omit_defaults=True):
    """There is no ``nbf`` in what we issue: a beacon whose clock is a second late would refuse it."""

    sub: str = ""
    exp: int | None = None
    iat: int | None = None
    nbf: int | None = None
    jti: str = ""
    info: dict[str, Any] | None = None
    meta: dict[str, Any] = {}
    channels: tuple[str, ...] = ()


@dataclass(frozen=True)
class IssuedToken:
    text: str
    expires_at: datetime

    def __repr__(self) -> str:
        return f"IssuedToken(expires_at={self.expires_at})"


class ConnectionTokens:
    def __init__(self, secret: str, clock: Clock) -> None:
        if len(secret.encode()) < SHORTEST_SECRET:
            raise Invalid(
                "beacon_secret_too_short",
                f"The beacon's secret is shorter than {SHORTEST_SECRET} bytes, so tokens could be forged.",
                hint="Set SHOAL_CENTRIFUGO_TOKEN_SECRET to a longer one; 'openssl rand -hex 32' makes one.",
            )
        self._secret = secret
        self._clock = clock

    def issue_node(self, node_id: str, public_key: bytes) -> IssuedToken:
        """For a node that has proven to hold this key (the 32 bytes of it)."""
        return self._issue_for(node_identity(node_id, public_key))

    def issue_portal(self, user_id: str) -> IssuedToken:
        """For somebody who has proven to be this user."""
        return self._issue_for(portal_identity(user_id))

    def issue(self, identity: Identity) -> str:
        claims = Claims(
            sub=identity.user,
            exp=identity.expires_at,
            iat=int(self._clock.now().timestamp()),
            jti=uuid4().hex,
            info=None if identity.info is None else dict(identity.info),
            meta=dict(identity.meta),
            channels=tuple(identity.channels),
        )
        return jwt.encode(msgspec.to_builtins(claims), self._secret, algorithm=ALGORITHM)

    def verify(self, token: str) -> Identity:
        """Raises ``Refused`` for a token that has expired (the client gets a new one) and ``Cut`` for any
        other that does not hold.
        """
        try:
            read: Mapping[str, Any] = jwt.decode(
                token,
                self._secret,
                algorithms=[ALGORITHM],
                # Times are judged below, by our clock.
                options={"verify_exp": False, "verify_nbf": False, "verify_iat": False, "verify_aud": False},
            )
            claims = msgspec.convert(read, Claims)
        except (jwt.PyJWTError, msgspec.ValidationError, ValueError, TypeError, RecursionError):
            raise Cut(DisconnectCode.INVALID_TOKEN, "invalid token") from None
        now = self._clock.now().timestamp()
        if (claims.exp is not None and claims.exp <= now) or (claims.nbf is not None and claims.nbf > now):
            raise Refused(ErrorCode.TOKEN_EXPIRED, "token expired")
        return Identity(
            user=claims.sub,
            expires_at=claims.exp,
            info=claims.info,
            meta=claims.meta,
            channels=claims.channels,
        )

    def lives_until(self, meta: Mapping[str, Any]) -> int:
        """When a connection ends that begins, or goes on, now."""
        return int((self._clock.now() + LIFETIMES[meta["kind"]]).timestamp())

    def _issue_for(self, identity: Identity) -> IssuedToken:
        expires_at = self.lives_until(identity.meta)
        text = self.issue(replace(identity, expires_at=expires_at))
        return IssuedToken(text, datetime.fromtimestamp(expires_at, UTC))


def node_identity(node_id: str, public_key: bytes) -> Identity:
    """A node hears ``nodes:<its id>`` from the moment it is connected."""
    key_hash = hashlib.sha256(public_key).hexdigest()
    return Identity(
        user=node_id,
        info={"type": "node", "pubkey_hash": key_hash},
        meta={"kind": "node", "pubkey_hash": key_hash},
        channels=(f"nodes:{node_id}",),
    )


def portal_identity(user_id: str) -> Identity:
    return Identity(user=user_id, info={"type": "portal"}, meta={"kind": "portal"})
