"""The rows of users and keys."""

from datetime import timedelta
from uuid import UUID

import msgspec

from shoal.access.model import AccessKey, KeyKind, StoredKey
from shoal.ledger.connection import Connection
from shoal.ledger.statements import load_statements

sql = load_statements("shoal.access")


async def remember_user(connection: Connection, user_id: UUID, name: str) -> None:
    await sql.remember_user.run(connection, user_id=user_id, name=name)


async def knows_user(connection: Connection, user_id: UUID) -> bool:
    known: bool = await sql.knows_user.value(connection, user_id=user_id)
    return known


async def find_key(connection: Connection, key_id: UUID) -> StoredKey | None:
    row = await sql.find_key.row(connection, key_id=key_id)
    return None if row is None else msgspec.convert(dict(row), StoredKey)


async def touch_key(connection: Connection, key_id: UUID) -> None:
    await sql.touch_key.run(connection, key_id=key_id)


async def issue_key(
    connection: Connection, key_id: UUID, *, name: str, kind: KeyKind, secret_hash: bytes
) -> bool:
    """False when the name has a live key."""
    issued = await sql.issue_key.value(
        connection, key_id=key_id, name=name, kind=kind, secret_hash=secret_hash
    )
    return issued is not None


async def retire_key(connection: Connection, name: str, grace: timedelta) -> KeyKind | None:
    """The kind of the key that was live, or None when there was none."""
    kind: KeyKind | None = await sql.retire_key.value(connection, name=name, grace=grace)
    return kind


async def revoke_key(connection: Connection, name: str) -> int:
    return len(await sql.revoke_key.rows(connection, name=name))


async def list_keys(connection: Connection) -> list[AccessKey]:
    return [msgspec.convert(dict(row), AccessKey) for row in await sql.list_keys.rows(connection)]
