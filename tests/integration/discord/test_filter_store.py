"""Filters in the ledger: every sentinel has the same, and none lets anybody in that it cannot read."""

from shoal.discord.filter_store import READ_AT_ONCE, FilterStore
from shoal.discord.filters import Filters
from shoal.discord.membership_filter import MembershipFilter
from shoal.ledger.pool import Ledger

ONE, OTHER = 81384788765712384, 81384788765712385


def made_of(guild: int, *user_ids: int) -> MembershipFilter:
    return MembershipFilter.build(guild, user_ids, members=len(user_ids))


async def test_another_process_has_the_filter_that_was_saved(ledger: Ledger) -> None:
    await FilterStore(ledger).save(made_of(ONE, 1, 2), "First")
    here, elsewhere = Filters(), FilterStore(ledger)
    await elsewhere.refresh(here)
    assert here.perhaps_in(1) == [ONE]

    await FilterStore(ledger).save(made_of(ONE, 2), "First")
    await FilterStore(ledger).save(made_of(OTHER, 1), "Second")
    await elsewhere.refresh(here)
    assert here.perhaps_in(1) == [OTHER]
    assert here.perhaps_in(2) == [ONE]

    await FilterStore(ledger).forget_others([OTHER])
    await elsewhere.refresh(here)
    assert here.perhaps_in(2) == []
    assert here.perhaps_in(1) == [OTHER]


async def test_only_what_changed_is_read_again(ledger: Ledger) -> None:
    store, here = FilterStore(ledger), Filters()
    guilds = range(ONE, ONE + 2 * READ_AT_ONCE + 1)
    for guild in guilds:
        await store.save(made_of(guild, guild), "")
    await store.refresh(here)
    before = {guild: here.get(guild) for guild in guilds}
    assert None not in before.values()

    await store.save(made_of(ONE, 1, 2), "")
    await store.save(made_of(OTHER, OTHER), "")  # as it was
    await store.refresh(here)

    assert [guild for guild in guilds if here.get(guild) is not before[guild]] == [ONE]


async def test_what_cannot_be_read_lets_nobody_in(ledger: Ledger) -> None:
    """Trap 3.7."""
    store, here = FilterStore(ledger), Filters()
    await store.save(made_of(ONE, 1), "")
    await store.refresh(here)
    assert here.may_be_member(ONE, 1)

    async with ledger.connection() as connection:
        await connection.execute(
            "UPDATE discord_server_filters SET filter = 'ff' || filter, updated_at = clock_timestamp()"
        )
    await store.refresh(here)
    assert not here.may_be_member(ONE, 1)

    await store.save(made_of(ONE, 1), "")
    await store.refresh(here)
    assert here.may_be_member(ONE, 1)
