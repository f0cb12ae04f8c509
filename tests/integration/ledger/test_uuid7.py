"""Ids of version 7 of RFC 9562: they carry the time of their making and sort by it."""

from uuid import RFC_4122, UUID

from shoal.ledger.pool import Ledger

MANY = """
SELECT id, floor(extract(epoch FROM before) * 1000)::bigint AS before,
       ceil(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS after
  FROM (SELECT clock_timestamp() AS before, shoal.uuid7() AS id FROM generate_series(1, 5000) OFFSET 0) made
"""


async def make(count: int, ledger: Ledger) -> list[UUID]:
    async with ledger.connection() as connection:
        rows = await connection.fetch("SELECT shoal.uuid7() FROM generate_series(1, $1::int)", count)
    return [UUID(str(row[0])) for row in rows]


def milliseconds(id_: UUID) -> int:
    return id_.int >> 80


async def test_version_variant_and_time_stand_where_the_rfc_says(ledger: Ledger) -> None:
    async with ledger.connection() as connection:
        rows = await connection.fetch(MANY)

    assert len(rows) == len({row["id"] for row in rows}) == 5000
    for row in rows:
        made = UUID(str(row["id"]))
        assert (made.version, made.variant) == (7, RFC_4122)
        # Rounded to whole milliseconds, it may say half a one more or less.
        assert row["before"] - 1 <= milliseconds(made) <= row["after"] + 1


async def test_later_ids_are_greater(ledger: Ledger) -> None:
    async with ledger.connection() as connection:
        made = [
            UUID(str(row[0]))
            for row in await connection.fetch("SELECT shoal.uuid7() FROM generate_series(1, 5000)")
        ]

    times = [milliseconds(one) for one in made]
    assert times == sorted(times)
    assert len(set(times)) > 1


async def test_everything_else_is_chance(ledger: Ledger) -> None:
    """Each of the last 62 bits is sometimes 0 and sometimes 1. The 12 after the version may be chance as
    well or, as in PostgreSQL 18, the fraction of the millisecond.
    """
    async with ledger.connection() as connection:
        made = [
            UUID(str(row[0])).int
            for row in await connection.fetch("SELECT shoal.uuid7() FROM generate_series(1, 200)")
        ]

    ones, zeros = 0, 0
    for number in made:
        ones |= number
        zeros |= ~number
    free = (1 << 62) - 1
    assert ones & free == free
    assert zeros & free == free
