"""Pure decisions: what a header, a key and a verified token say."""

import hashlib
import hmac
import re
from collections.abc import Mapping
from datetime import timedelta
from typing import cast
from uuid import NAMESPACE_URL, UUID, uuid5

from shoal.access.model import KeyKind, Principal, StoredKey
from shoal.runtime.errors import Invalid, Unauthenticated

LONGEST_HEADER = 8192
LONGEST_NAME = 200
DEFAULT_GRACE = timedelta(hours=24)

KEY = re.compile(r"shoal_(?P<kind>service|worker)_(?P<id>[0-9a-f]{32})_[0-9a-f]{64}")
KEY_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")


def read_bearer(header: str | None) -> str:
    """What stands after ``Bearer`` in an Authorization header."""
    scheme, _, credential = (header or "").strip().partition(" ")
    if scheme.lower() != "bearer" or not credential.strip():
        raise Unauthenticated(
            "token_missing",
            "This needs a token or a key.",
            hint="Send the header 'Authorization: Bearer <token or key>'.",
        )
    if len(credential) > LONGEST_HEADER:
        raise token_invalid()
    return credential.strip()


def token_invalid(why: str = "The token is not valid here.") -> Unauthenticated:
    return Unauthenticated("token_invalid", why, hint="Sign in again to get a new one.")


def key_invalid() -> Unauthenticated:
    return Unauthenticated(
        "key_invalid",
        "This key is not known.",
        hint="Check that all of it was copied; 'shoal key list' shows the keys there are.",
    )


def is_key(credential: str) -> bool:
    """Whether it means to be a key; a JWT never begins like this."""
    return credential.startswith("shoal_")


def format_key(kind: KeyKind, key_id: UUID, secret: str) -> str:
    return f"shoal_{kind}_{key_id.hex}_{secret}"


def read_key_id(text: str) -> UUID:
    match = KEY.fullmatch(text)
    if match is None:
        raise key_invalid()
    return UUID(match["id"])


def hash_key(text: str) -> bytes:
    """Of the whole text, so that kind and id cannot be exchanged. 256 random bits need no salt."""
    return hashlib.sha256(text.encode()).digest()


def judge_key(text: str, stored: StoredKey | None) -> Principal:
    """Whom this key stands for. That a key has ended is told only to those who have all of it."""
    expected = stored.secret_hash if stored else bytes(32)
    if not hmac.compare_digest(hash_key(text), expected) or stored is None:
        raise key_invalid()
    if stored.is_ended:
        raise Unauthenticated(
            "key_revoked",
            f"The key named {stored.name} was revoked or replaced.",
            hint="Issue a new one with 'shoal key issue', or use the one that replaced it.",
        )
    return Principal(kind=stored.kind, id=stored.id, name=stored.name)


def require_key_name(name: str) -> None:
    if not KEY_NAME.fullmatch(name):
        raise Invalid(
            "key_name_invalid",
            f"A key cannot be named {name[:80]!r}.",
            hint="Use up to 63 of a-z, 0-9, '.', '_' and '-', beginning with a letter or a digit.",
        )


def require_grace(grace: timedelta) -> None:
    if not timedelta(0) <= grace <= timedelta(days=365):
        raise Invalid(
            "key_grace_invalid",
            f"A replaced key cannot go on for {grace}.",
            hint="Give a time between nothing and a year.",
        )


def judge_claims(claims: Mapping[str, object], *, audience: str, may_be_service: bool) -> Principal:
    """Whom a token stands for whose signature and times are already checked."""
    role = claims.get("role")
    if role == "service_role" and may_be_service:
        return _service(claims, audience)
    if role != "authenticated":
        raise token_invalid("The token's role is not one that may use this.")
    if not _is_for(audience, claims.get("aud")):
        raise token_invalid("The token is for another audience.")
    return Principal(kind="user", id=_subject(claims.get("sub")), name=_display_name(claims))


def _service(claims: Mapping[str, object], audience: str) -> Principal:
    """Supabase's own service tokens have no subject and no audience; one that is there must fit."""
    if "aud" in claims and not _is_for(audience, claims["aud"]):
        raise token_invalid("The token is for another audience.")
    identity = (
        _subject(claims["sub"])
        if "sub" in claims
        else uuid5(NAMESPACE_URL, f"{claims.get('iss', '')}#service_role")
    )
    return Principal(kind="service", id=identity, name="service_role")


def _is_for(audience: str, given: object) -> bool:
    return audience in given if isinstance(given, list) else given == audience


def _subject(given: object) -> UUID:
    try:
        return UUID(cast("str", given))
    except (ValueError, AttributeError, TypeError):
        raise token_invalid("The token's subject is not a user's id.") from None


def _display_name(claims: Mapping[str, object]) -> str:
    """What to call the user. It comes from them, so it is only ever shown."""
    profile = claims.get("user_metadata")
    known = profile if isinstance(profile, dict) else {}
    candidates = (known.get("full_name"), known.get("name"), claims.get("name"), claims.get("email"))
    for name in candidates:
        if isinstance(name, str) and (shown := "".join(filter(str.isprintable, name)).strip()):
            return shown[:LONGEST_NAME]
    return ""
