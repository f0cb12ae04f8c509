"""Users' tokens: verifying them, and issuing the local owner's."""

import time
from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

import jwt

from shoal.access.jwks import ALGORITHMS, Jwks
from shoal.access.model import Principal
from shoal.access.rules import judge_claims, token_invalid
from shoal.access.settings import AccessSettings
from shoal.runtime.clock import Clock
from shoal.runtime.errors import Invalid, Unauthenticated

LEEWAY_S = 30
SHORTEST_SECRET = 32
DEFAULT_AUDIENCE = "authenticated"

# A signed token can still hold anything: PyJWT lets some of these through.
UNREADABLE = (jwt.PyJWTError, ValueError, TypeError, ArithmeticError, RecursionError)


class Tokens:
    def __init__(self, settings: AccessSettings, clock: Clock) -> None:
        require_secret(settings.jwt_secret)
        self._secret = settings.jwt_secret
        self._audience = settings.jwt_audience
        self._jwks = Jwks(settings.jwks_url, clock) if settings.jwks_url else None

    async def verify(self, token: str) -> Principal:
        """Whom the token stands for. The algorithm its header names only picks the verifier."""
        header = _header(token)
        algorithm = str(header.get("alg"))  # it may be anything, also unhashable
        if algorithm == "HS256" and self._secret:
            claims = _decode(token, self._secret, algorithm)
            return judge_claims(claims, audience=self._audience, may_be_service=True)
        if algorithm in ALGORITHMS and self._jwks is not None:
            key = await self._jwks.find(str(header.get("kid", "")))
            if key is None or key.algorithm_name != algorithm:
                raise token_invalid()
            claims = _decode(token, key, algorithm)
            return judge_claims(claims, audience=self._audience, may_be_service=False)
        raise token_invalid()


def issue_token(secret: str, user_id: UUID, lifetime: timedelta, *, audience: str = DEFAULT_AUDIENCE) -> str:
    """A token of the form Supabase issues, for the owner of an installation without a login server."""
    require_secret(secret)
    now = int(time.time())
    return jwt.encode(
        {
            "sub": str(user_id),
            "role": "authenticated",
            "aud": audience,
            "iat": now,
            "exp": now + int(lifetime.total_seconds()),
        },
        secret,
        algorithm="HS256",
    )


def require_secret(secret: str) -> None:
    if secret and len(secret.encode()) < SHORTEST_SECRET:
        raise Invalid(
            "jwt_secret_too_short",
            f"The JWT secret is shorter than {SHORTEST_SECRET} bytes, so tokens could be forged.",
            hint="Set SHOAL_JWT_SECRET to a longer one; 'openssl rand -hex 32' makes one.",
        )


def _header(token: str) -> Mapping[str, Any]:
    try:
        return jwt.get_unverified_header(token)
    except UNREADABLE:
        raise token_invalid() from None


def _decode(token: str, key: "jwt.PyJWK | str", algorithm: str) -> Mapping[str, Any]:
    try:
        return jwt.decode(
            token,
            key,
            algorithms=[algorithm],
            leeway=LEEWAY_S,
            options={"require": ["exp"], "verify_aud": False},  # judge_claims looks at it
        )
    except jwt.ExpiredSignatureError:
        raise Unauthenticated(
            "token_expired", "The token has expired.", hint="Sign in again to get a new one."
        ) from None
    except UNREADABLE:
        raise token_invalid() from None
