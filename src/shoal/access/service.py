"""Who is asking, and the keys of services and workers."""

import secrets
from datetime import timedelta
from uuid import UUID, uuid4

from shoal.access import store
from shoal.access.model import AccessKey, IssuedKey, KeyKind, Principal
from shoal.access.rules import (
    DEFAULT_GRACE,
    format_key,
    hash_key,
    is_key,
    judge_key,
    read_bearer,
    read_key_id,
    require_grace,
    require_key_name,
)
from shoal.access.settings import AccessSettings
from shoal.access.tokens import Tokens
from shoal.ledger.connection import Connection
from shoal.ledger.pool import Ledger
from shoal.runtime.clock import Clock
from shoal.runtime.errors import Conflict, NotFound

SECRET_BYTES = 32
MOST_USERS_REMEMBERED = 10_000


class Access:
    def __init__(self, ledger: Ledger, settings: AccessSettings, clock: Clock) -> None:
        self._ledger = ledger
        self._tokens = Tokens(settings, clock)
        self._written_users: dict[UUID, str] = {}

    async def authenticate(self, authorization_header: str | None) -> Principal:
        """Whom the header stands for; raises Unauthenticated when that is nobody."""
        credential = read_bearer(authorization_header)
        if is_key(credential):
            return await self._authenticate_key(credential)
        principal = await self._tokens.verify(credential)
        if principal.kind == "user":
            await self._remember(principal)
        return principal

    async def knows_user(self, user_id: UUID) -> bool:
        """Whether somebody with this id has ever proven it, and was not removed since."""
        async with self._ledger.connection() as connection:
            return await store.knows_user(connection, user_id)

    async def issue_key(self, kind: KeyKind, name: str) -> IssuedKey:
        require_key_name(name)
        async with self._ledger.transaction() as connection:
            return await _issue(connection, kind, name)

    async def rotate_key(self, name: str, grace: timedelta = DEFAULT_GRACE) -> IssuedKey:
        """A new secret under the same name. What was valid goes on for the grace time at most."""
        require_grace(grace)
        async with self._ledger.transaction() as connection:
            kind = await store.retire_key(connection, name, grace)
            if kind is None:
                raise _key_not_found(name)
            return await _issue(connection, kind, name)

    async def revoke_key(self, name: str) -> None:
        """End every key of that name at once, also those that were replaced and go on."""
        async with self._ledger.transaction() as connection:
            if not await store.revoke_key(connection, name):
                raise _key_not_found(name)

    async def list_keys(self) -> list[AccessKey]:
        async with self._ledger.connection() as connection:
            return await store.list_keys(connection)

    async def _authenticate_key(self, text: str) -> Principal:
        key_id = read_key_id(text)
        async with self._ledger.connection() as connection:
            stored = await store.find_key(connection, key_id)
            principal = judge_key(text, stored)
            if stored is not None and stored.is_touch_due:
                await store.touch_key(connection, key_id)
        return principal

    async def _remember(self, user: Principal) -> None:
        """Write the user's row when this process has not yet, or when the name is another one."""
        if self._written_users.get(user.id) == user.name:
            return
        async with self._ledger.connection() as connection:
            await store.remember_user(connection, user.id, user.name)
        if len(self._written_users) >= MOST_USERS_REMEMBERED:
            self._written_users.clear()
        self._written_users[user.id] = user.name


async def _issue(connection: Connection, kind: KeyKind, name: str) -> IssuedKey:
    key_id = uuid4()
    text = format_key(kind, key_id, secrets.token_hex(SECRET_BYTES))
    issued = await store.issue_key(connection, key_id, name=name, kind=kind, secret_hash=hash_key(text))
    if not issued:
        raise Conflict(
            "key_name_taken",
            f"There is a key named {name} already.",
            hint=f"Choose another name, or replace its secret with 'shoal key rotate {name}'.",
        )
    return IssuedKey(id=key_id, name=name, kind=kind, text=text)


def _key_not_found(name: str) -> NotFound:
    return NotFound(
        "key_not_found",
        f"There is no key in use named {name[:80]!r}.",
        hint="'shoal key list' shows the keys there are.",
    )
