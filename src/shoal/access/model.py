"""Who can ask, and what they ask with."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal
from uuid import UUID

import msgspec

KeyKind = Literal["service", "worker"]
KeyState = Literal["live", "retiring", "ended"]


class Principal(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody who has proven who they are."""

    kind: Literal["user", "service", "worker"]
    id: UUID
    name: str = ""

    @property
    def claims(self) -> Mapping[str, object]:
        """What ``Ledger.acting_as`` takes. Only a user has a ``sub``, so a key never owns a user's rows."""
        if self.kind == "user":
            return {"sub": str(self.id), "role": "authenticated"}
        return {"role": "service_role" if self.kind == "service" else "shoal_worker"}


class AccessKey(msgspec.Struct, frozen=True, kw_only=True):
    """A key as it is listed; its secret is not known any more."""

    id: UUID
    name: str
    kind: KeyKind
    state: KeyState
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None


class IssuedKey(msgspec.Struct, frozen=True, kw_only=True):
    """A new key. ``text`` is shown to its owner once and kept nowhere."""

    id: UUID
    name: str
    kind: KeyKind
    text: str

    def __repr__(self) -> str:
        return f"IssuedKey(name={self.name!r}, kind={self.kind!r}, id={self.id})"


class StoredKey(msgspec.Struct, frozen=True, kw_only=True):
    """What a key that was shown is compared with."""

    id: UUID
    name: str
    kind: KeyKind
    secret_hash: bytes
    is_ended: bool
    is_touch_due: bool
