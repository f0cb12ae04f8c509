"""Which Discord account belongs to which user.

A user makes a code where they are signed in, and tells it to the bot from their account. So whoever has the
link has proven both. A code is used once, ends after ten minutes, and a user has one at a time.
"""

import secrets
from collections.abc import Mapping, Sequence
from datetime import timedelta
from uuid import UUID

from redis.asyncio import Redis

from shoal.brain.limits import RateLimit, admit
from shoal.discord.rules import CODE_LENGTH, CODE_LETTERS, format_code, hash_code, read_code
from shoal.discord.store import sql
from shoal.ledger.pool import Ledger
from shoal.runtime.errors import Conflict, NotFound
from shoal.wire.discord import DiscordLink, DiscordLinkCode

CODE_LASTS = timedelta(minutes=10)
TRIES = RateLimit(action="discord-link", limit=5, window_ms=600_000)
LONGEST_NAME = 200

Claims = Mapping[str, object]


class Links:
    def __init__(self, ledger: Ledger, brain: Redis) -> None:
        self._ledger = ledger
        self._brain = brain

    async def make_code(self, user_id: UUID) -> DiscordLinkCode:
        letters = "".join(secrets.choice(CODE_LETTERS) for _ in range(CODE_LENGTH))
        async with self._ledger.connection() as connection:
            expires_at = await sql.keep_link_code.value(
                connection, user_id=user_id, code_hash=hash_code(letters), lasts=CODE_LASTS
            )
        return DiscordLinkCode(code=format_code(letters), expires_at=expires_at)

    async def redeem(self, code: str, *, discord_id: int, discord_name: str) -> UUID:
        """The user whose code it is; from now on the account is theirs."""
        admission = await admit(self._brain, TRIES, str(discord_id))
        if not admission.allowed:
            raise Conflict(
                "too_many_tries",
                "That were too many codes.",
                hint=f"Try again in {max(1, round(admission.retry_after_s / 60))} min.",
            )
        letters, user_id = read_code(code), None
        if letters is not None:
            async with self._ledger.connection() as connection:
                user_id = await sql.redeem_link_code.value(
                    connection,
                    code_hash=hash_code(letters),
                    discord_id=str(discord_id),
                    discord_name=discord_name[:LONGEST_NAME],
                )
        if user_id is None:
            raise NotFound(
                "link_code_unknown",
                "This code is not known, or not any more.",
                hint="Make a new one with 'shoal discord link'; it works once and for ten minutes.",
            )
        return UUID(str(user_id))

    async def read(self, claims: Claims) -> DiscordLink:
        async with self._ledger.acting_as(claims) as connection:
            row = await sql.read_link.row(connection)
        if row is None:
            raise NotFound(
                "discord_not_linked",
                "You are not linked with a Discord account.",
                hint="Make a code with 'shoal discord link', and give it to the bot with /link.",
            )
        return DiscordLink(
            discord_id=row["discord_id"], discord_name=row["discord_name"], linked_at=row["linked_at"]
        )

    async def remove(self, user_id: UUID) -> bool:
        async with self._ledger.connection() as connection:
            removed = await sql.remove_link.value(connection, user_id=user_id)
        return removed is not None

    async def user_of(self, discord_id: int) -> UUID | None:
        async with self._ledger.connection() as connection:
            found = await sql.find_user_of_account.value(connection, discord_id=str(discord_id))
        return None if found is None else UUID(str(found))

    async def name_of(self, user_id: UUID) -> str:
        async with self._ledger.connection() as connection:
            return str(await sql.read_user_name.value(connection, user_id=user_id) or "")

    async def accounts_of(self, user_ids: Sequence[UUID]) -> Mapping[UUID, int]:
        if not user_ids:
            return {}
        async with self._ledger.connection() as connection:
            rows = await sql.find_accounts_of_users.rows(connection, user_ids=list(user_ids))
        return {UUID(str(row["user_id"])): int(row["discord_id"]) for row in rows}
