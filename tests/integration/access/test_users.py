"""Users come with a token and leave a row."""

from datetime import timedelta
from uuid import uuid4

import jwt
import pytest

from shoal.access.service import Access
from shoal.access.settings import AccessSettings
from shoal.access.tokens import issue_token
from shoal.ledger.pool import Ledger
from shoal.runtime.clock import SystemClock
from shoal.runtime.errors import Forbidden

SECRET = "a secret that is long enough for HS256"


@pytest.fixture
def access(ledger: Ledger) -> Access:
    return Access(ledger, AccessSettings(jwt_secret=SECRET), SystemClock())


async def users(ledger: Ledger) -> dict[object, str]:
    async with ledger.connection() as connection:
        rows = await connection.fetch("SELECT id, name FROM public.users")
        return {row["id"]: row["name"] for row in rows}


async def test_a_user_who_was_let_in_has_a_row(access: Access, ledger: Ledger) -> None:
    user = uuid4()
    token = issue_token(SECRET, user, timedelta(hours=1))

    await access.authenticate(f"Bearer {token}")
    await access.authenticate(f"Bearer {token}")

    assert await users(ledger) == {user: ""}


async def test_a_row_follows_the_name_and_never_loses_it(access: Access, ledger: Ledger) -> None:
    user = uuid4()
    claims = jwt.decode(
        issue_token(SECRET, user, timedelta(hours=1)), SECRET, ["HS256"], audience="authenticated"
    )

    for name in ("Ada", "Ada Lovelace", ""):
        token = jwt.encode({**claims, "name": name}, SECRET, "HS256")
        await access.authenticate(f"Bearer {token}")

    assert await users(ledger) == {user: "Ada Lovelace"}


async def test_a_service_token_leaves_no_user(access: Access, ledger: Ledger) -> None:
    claims = {"role": "service_role", "iss": "supabase", "exp": 4_000_000_000}
    token = jwt.encode(claims, SECRET, "HS256")

    principal = await access.authenticate(f"Bearer {token}")

    assert principal.kind == "service"
    assert await users(ledger) == {}


async def test_a_users_claims_see_only_their_own_row(access: Access, ledger: Ledger) -> None:
    seen = []
    for _ in range(2):
        token = issue_token(SECRET, uuid4(), timedelta(hours=1))
        seen.append(await access.authenticate(f"Bearer {token}"))

    async with ledger.acting_as(seen[0].claims) as connection:
        visible = await connection.fetch("SELECT id FROM public.users")

    assert [row["id"] for row in visible] == [seen[0].id]


async def test_a_service_acts_for_everybody_and_a_worker_for_nobody(access: Access, ledger: Ledger) -> None:
    user = uuid4()
    await access.authenticate(f"Bearer {issue_token(SECRET, user, timedelta(hours=1))}")
    service = await access.authenticate(f"Bearer {(await access.issue_key('service', 'ci')).text}")
    worker = await access.authenticate(f"Bearer {(await access.issue_key('worker', 'gpu-1')).text}")

    async with ledger.acting_as(service.claims) as connection:
        rows = await connection.fetch("SELECT id, auth.uid() AS acting FROM public.users")

    assert [(row["id"], row["acting"]) for row in rows] == [(user, None)]
    with pytest.raises(Forbidden):
        async with ledger.acting_as(worker.claims):
            pass
