"""A transaction as somebody: their role and claims hold inside it, and nothing of them after it."""

from collections.abc import AsyncIterator
from uuid import uuid4

import asyncpg
import pytest

from shoal.ledger.pool import Ledger
from shoal.ledger.settings import LedgerSettings
from shoal.runtime.errors import Forbidden, Invalid

WHO = "SELECT current_user::text, current_setting('request.jwt.claims', true)"


@pytest.fixture
async def single(database_url: str) -> AsyncIterator[Ledger]:
    """A ledger of one connection: what a transaction leaves on it, the next one finds."""
    ledger = Ledger(LedgerSettings(database_url=database_url, database_pool_size=1))
    await ledger.start()
    yield ledger
    await ledger.stop()


async def who(ledger: Ledger) -> tuple[str, str | None]:
    async with ledger.connection() as connection:
        role, claims = await connection.fetchrow(WHO) or ("", None)
        return role, claims or None


@pytest.mark.parametrize("role", ["authenticated", "service_role"])
async def test_role_and_claims_are_those_that_were_given(ledger: Ledger, role: str) -> None:
    user = uuid4()
    claims = {"role": role, "sub": str(user), "name": "Ann 'Ω' \"O\\'Neil\"; --", "deep": {"list": [1, None]}}

    async with ledger.acting_as(claims) as connection:
        assert await connection.fetchval("SELECT current_user::text") == role
        assert await connection.fetchval("SELECT auth.uid()") == user
        assert await connection.fetchval("SELECT auth.jwt()") == claims


async def test_somebody_without_a_subject_is_nobody_in_particular(ledger: Ledger) -> None:
    async with ledger.acting_as({"role": "service_role"}) as connection:
        assert await connection.fetchval("SELECT auth.uid()") is None
    async with ledger.connection() as connection:
        assert await connection.fetchval("SELECT auth.uid()") is None
        assert await connection.fetchval("SELECT auth.jwt()") == {}


async def test_afterwards_the_connection_is_the_services_again(single: Ledger) -> None:
    before = await who(single)
    async with single.acting_as({"role": "authenticated", "sub": str(uuid4())}):
        pass
    assert await who(single) == before


async def test_after_an_error_it_is_as_well_and_nothing_was_kept(single: Ledger) -> None:
    before = await who(single)
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        async with single.acting_as({"role": "authenticated", "sub": str(uuid4())}) as connection:
            await connection.execute("DELETE FROM public.users")
    with pytest.raises(RuntimeError, match="ours"):
        await insert_and_fail(single)

    assert await who(single) == before
    async with single.connection() as connection:
        assert await connection.fetchval("SELECT count(*) FROM public.users") == 0


async def insert_and_fail(ledger: Ledger) -> None:
    async with ledger.acting_as({"role": "service_role"}) as connection:
        await connection.execute("INSERT INTO public.users (id) VALUES ($1)", uuid4())
        raise RuntimeError("ours")


async def test_what_somebody_did_is_kept(single: Ledger) -> None:
    user = uuid4()
    async with single.acting_as({"role": "service_role"}) as connection:
        await connection.execute("INSERT INTO public.users (id) VALUES ($1)", user)
    async with single.acting_as({"role": "authenticated", "sub": str(user)}) as connection:
        assert await connection.fetchval("SELECT id FROM public.users") == user
    async with single.acting_as({"role": "authenticated", "sub": str(uuid4())}) as connection:
        assert await connection.fetchval("SELECT id FROM public.users") is None


@pytest.mark.parametrize(
    "claims",
    [
        {},
        {"role": None},
        {"role": "anon"},
        {"role": "postgres"},
        {"role": "shoal_worker"},
        {"role": "Authenticated"},
        {"role": ["authenticated"]},
        {"role": "authenticated; DROP TABLE jobs"},
    ],
)
async def test_any_other_role_is_refused(ledger: Ledger, claims: dict[str, object]) -> None:
    with pytest.raises(Forbidden) as refused:
        async with ledger.acting_as(claims):
            pytest.fail("somebody acted under a role that nobody may have")
    assert refused.value.code == "role_not_allowed"


async def test_a_subject_that_is_no_id_sees_nothing(ledger: Ledger) -> None:
    with pytest.raises((asyncpg.InvalidTextRepresentationError, Invalid)):
        async with ledger.acting_as({"role": "authenticated", "sub": "ann"}) as connection:
            await connection.fetch("SELECT * FROM public.users")
