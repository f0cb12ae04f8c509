"""Keys of services and workers, on a real database."""

import asyncio
from datetime import timedelta

import pytest

from shoal.access.model import Principal
from shoal.access.service import Access
from shoal.access.settings import AccessSettings
from shoal.ledger.pool import Ledger
from shoal.runtime.clock import SystemClock
from shoal.runtime.errors import Conflict, Invalid, NotFound, Unauthenticated


@pytest.fixture
def access(ledger: Ledger) -> Access:
    return Access(ledger, AccessSettings(), SystemClock())


async def asking(access: Access, key: str) -> Principal:
    return await access.authenticate(f"Bearer {key}")


async def refusal(access: Access, key: str) -> str:
    with pytest.raises(Unauthenticated) as refused:
        await asking(access, key)
    return refused.value.code


async def test_an_issued_key_says_who_is_asking(access: Access) -> None:
    issued = await access.issue_key("worker", "gpu-1")

    assert await asking(access, issued.text) == Principal(kind="worker", id=issued.id, name="gpu-1")


async def test_the_database_holds_no_secret(access: Access, ledger: Ledger) -> None:
    issued = await access.issue_key("service", "ci")
    secret = issued.text.rsplit("_", 1)[1]

    async with ledger.connection() as connection:
        row = await connection.fetchval("SELECT k::text FROM public.access_keys k")

    assert secret not in row
    assert secret not in repr(issued)


async def test_a_name_has_one_live_key(access: Access) -> None:
    await access.issue_key("worker", "gpu-1")

    with pytest.raises(Conflict) as taken:
        await access.issue_key("service", "gpu-1")

    assert taken.value.code == "key_name_taken"


async def test_of_many_who_issue_one_name_one_succeeds(access: Access) -> None:
    results = await asyncio.gather(
        *(access.issue_key("worker", "gpu-1") for _ in range(8)), return_exceptions=True
    )

    refused = [one for one in results if isinstance(one, Conflict)]
    assert len(refused) == 7


@pytest.mark.parametrize("name", ["", "-a", "A", "a b", "a" * 64, "naïve", "a\n", "x'; --"])
async def test_a_strange_name_is_refused(access: Access, name: str) -> None:
    with pytest.raises(Invalid) as refused:
        await access.issue_key("worker", name)

    assert refused.value.code == "key_name_invalid"


async def test_a_key_with_another_secret_kind_or_id_is_unknown(access: Access) -> None:
    worker = await access.issue_key("worker", "gpu-1")
    other = await access.issue_key("worker", "gpu-2")
    _, _, key_id, secret = worker.text.split("_")

    assert await refusal(access, f"shoal_worker_{key_id}_{'0' * 64}") == "key_invalid"
    assert await refusal(access, f"shoal_service_{key_id}_{secret}") == "key_invalid"
    assert await refusal(access, f"shoal_worker_{other.id.hex}_{secret}") == "key_invalid"
    assert await refusal(access, f"shoal_worker_{'0' * 32}_{secret}") == "key_invalid"
    assert await refusal(access, worker.text + "0") == "key_invalid"
    assert await refusal(access, "shoal_worker_") == "key_invalid"


async def test_a_revoked_key_ends_at_once_and_its_name_is_free(access: Access) -> None:
    issued = await access.issue_key("service", "ci")
    await asking(access, issued.text)

    await access.revoke_key("ci")

    assert await refusal(access, issued.text) == "key_revoked"
    again = await access.issue_key("worker", "ci")
    assert (await asking(access, again.text)).kind == "worker"


async def test_only_who_has_the_whole_key_hears_that_it_was_revoked(access: Access) -> None:
    issued = await access.issue_key("service", "ci")
    await access.revoke_key("ci")

    forged = issued.text[:-64] + "0" * 64

    assert await refusal(access, forged) == "key_invalid"


async def test_a_rotated_key_goes_on_for_its_grace_time(access: Access) -> None:
    old = await access.issue_key("service", "ci")

    new = await access.rotate_key("ci", timedelta(hours=1))

    assert new.kind == "service"
    assert new.text != old.text
    assert (await asking(access, old.text)).name == "ci"
    assert (await asking(access, new.text)).name == "ci"
    assert {key.id: key.state for key in await access.list_keys()} == {
        old.id: "retiring",
        new.id: "live",
    }


async def test_rotating_without_grace_ends_all_earlier_secrets(access: Access) -> None:
    first = await access.issue_key("service", "ci")
    second = await access.rotate_key("ci", timedelta(hours=1))

    third = await access.rotate_key("ci", timedelta(0))

    assert await refusal(access, first.text) == "key_revoked"
    assert await refusal(access, second.text) == "key_revoked"
    assert (await asking(access, third.text)).id == third.id


async def test_a_later_rotation_never_lengthens_a_grace_time(access: Access) -> None:
    first = await access.issue_key("service", "ci")
    await access.rotate_key("ci", timedelta(minutes=1))
    [before] = [key.expires_at for key in await access.list_keys() if key.id == first.id]

    await access.rotate_key("ci", timedelta(days=7))

    [after] = [key.expires_at for key in await access.list_keys() if key.id == first.id]
    assert after == before


async def test_of_two_rotations_at_once_one_live_key_remains(access: Access) -> None:
    await access.issue_key("service", "ci")

    results = await asyncio.gather(*(access.rotate_key("ci") for _ in range(4)), return_exceptions=True)

    live = [key for key in await access.list_keys() if key.state == "live"]
    assert len(live) == 1
    assert all(isinstance(one, NotFound | Conflict) or one.text for one in results)  # type: ignore[union-attr]  # anything else fails here


async def test_revoking_ends_also_what_was_rotated_out(access: Access) -> None:
    old = await access.issue_key("service", "ci")
    new = await access.rotate_key("ci")

    await access.revoke_key("ci")

    assert await refusal(access, old.text) == "key_revoked"
    assert await refusal(access, new.text) == "key_revoked"


async def test_what_is_not_there_can_be_neither_rotated_nor_revoked(access: Access) -> None:
    await access.issue_key("service", "ci")
    await access.revoke_key("ci")

    for attempt in (access.rotate_key("ci"), access.revoke_key("ci"), access.revoke_key("x")):
        with pytest.raises(NotFound) as missing:
            await attempt
        assert missing.value.code == "key_not_found"


async def test_use_is_noted_once_a_minute(access: Access, ledger: Ledger) -> None:
    issued = await access.issue_key("worker", "gpu-1")
    [unused] = await access.list_keys()
    assert unused.last_used_at is None

    await asking(access, issued.text)
    [first] = await access.list_keys()
    await asking(access, issued.text)
    [second] = await access.list_keys()
    assert first.last_used_at is not None
    assert second.last_used_at == first.last_used_at

    async with ledger.connection() as connection:
        await connection.execute("UPDATE access_keys SET last_used_at = last_used_at - interval '61 s'")
    await asking(access, issued.text)
    [later] = await access.list_keys()
    assert later.last_used_at is not None
    assert later.last_used_at > first.last_used_at
