"""Signed links into a folder: the right to read one object until a moment. Pure.

The signature is an HMAC-SHA256 over the key, the content type, the file's name and the end, each
preceded by its length, so that no two grants share one signature. A link is checked by writing
its whole query anew and comparing, in constant time: a query that says the same in other letters
is refused as well.
"""

import hashlib
import hmac
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import parse_qsl, quote, urlencode

from shoal.runtime.errors import Forbidden, Invalid
from shoal.vault.names import check_content_type, check_filename, check_key

PATH = "/files/"
MIN_SECRET_LENGTH = 32

_PURPOSE = "shoal-file-link-1"


@dataclass(frozen=True)
class Grant:
    """What a link allows: to read ``key``, to be served as ``content_type``."""

    key: str
    content_type: str
    filename: str | None
    expires_at: datetime


class LinkSigner:
    def __init__(self, secret: str, base_url: str) -> None:
        if len(secret) < MIN_SECRET_LENGTH:
            raise Invalid(
                "vault_link_secret_too_short",
                f"The setting vault_link_secret has fewer than {MIN_SECRET_LENGTH} characters.",
                hint="Set SHOAL_VAULT_LINK_SECRET to, for example, 64 random hexadecimal digits.",
            )
        if not base_url.startswith(("http://", "https://")):
            raise Invalid(
                "invalid_vault_link_url",
                "The setting vault_link_url does not start with http:// or https://.",
                hint="Set SHOAL_VAULT_LINK_URL to where the API is reached from outside.",
            )
        self._secret = secret.encode()
        self._base_url = base_url.rstrip("/")

    def sign(self, key: str, *, content_type: str, filename: str | None, expires_at: datetime) -> str:
        """The URL of a link. It ends at the full second."""
        grant = Grant(
            check_key(key),
            check_content_type(content_type),
            None if filename is None else check_filename(filename),
            expires_at,
        )
        return f"{self._base_url}{PATH}{quote(key)}?{self._query(grant)}"

    def verify(self, key: str, query: str, now: datetime) -> Grant:
        """What the link allows. ``key`` is what follows ``/files/``, decoded; ``query`` is raw.

        Raises ``Forbidden``: ``link_invalid`` when anything in it was changed, ``link_expired``
        when it was good once.
        """
        try:
            grant = _read(key, query)
            genuine = hmac.compare_digest(self._query(grant).encode(), query.encode())
        except (ValueError, KeyError, OverflowError):
            genuine = False
        if not genuine:
            raise Forbidden(
                "link_invalid",
                "This link is not valid: it was changed, or was not made here.",
                hint="Copy the whole link, or ask for a new one.",
            )
        if now >= grant.expires_at:
            raise Forbidden("link_expired", "This link has ended.", hint="Ask for a new one.")
        return grant

    def _query(self, grant: Grant) -> str:
        expires = str(int(grant.expires_at.timestamp()))
        fields = {"type": grant.content_type}
        if grant.filename is not None:
            fields["name"] = grant.filename
        fields["expires"] = expires
        message = b"".join(
            _part(text) for text in (_PURPOSE, grant.key, grant.content_type, grant.filename, expires)
        )
        fields["signature"] = hmac.new(self._secret, message, hashlib.sha256).hexdigest()
        return urlencode(fields, quote_via=quote, safe="")


def _part(text: str | None) -> bytes:
    if text is None:
        return b"-"
    raw = text.encode()
    return b"%d:%b" % (len(raw), raw)


def _read(key: str, query: str) -> Grant:
    fields = dict(
        parse_qsl(query, keep_blank_values=True, strict_parsing=True, errors="strict", max_num_fields=4)
    )
    return Grant(
        key,
        fields["type"],
        fields.get("name"),
        datetime.fromtimestamp(int(fields["expires"]), UTC),
    )
