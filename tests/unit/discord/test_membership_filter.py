"""Membership filters: what they promise, and their format."""

import base64
import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.discord.filters import Filters
from shoal.discord.membership_filter import FilterUnreadable, MembershipFilter
from shoal.discord.rules import capacity_for

from .filter_reader import ReadFilter

GUILD = 81384788765712384
SNOWFLAKES = st.integers(1, 2**63 - 1)
VECTOR = json.loads(Path(__file__).with_name("filter_vector.json").read_text(encoding="utf-8"))


def made_of(user_ids: set[int], guild: int = GUILD) -> MembershipFilter:
    return MembershipFilter.build(guild, user_ids, members=len(user_ids))


@given(st.sets(SNOWFLAKES, max_size=200), st.sets(SNOWFLAKES, max_size=50))
@settings(max_examples=60, deadline=None)
def test_no_member_is_ever_ruled_out(members: set[int], joining: set[int]) -> None:
    its = made_of(members)
    for user_id in joining:
        its.add(user_id)

    kept = MembershipFilter.load(GUILD, its.dump())
    for user_id in members | joining:
        assert user_id in its
        assert user_id in kept


@given(st.sets(SNOWFLAKES, max_size=200), st.sets(SNOWFLAKES, max_size=200))
@settings(max_examples=60, deadline=None)
def test_another_language_reads_the_same(members: set[int], others: set[int]) -> None:
    its = made_of(members)
    read = ReadFilter(its.dump())

    assert (read.guild_id, read.members, read.size) == (GUILD, len(members), its.size_in_bytes * 8)
    for user_id in members | others:
        assert read.may_contain(user_id) == (user_id in its)


def test_the_format_is_the_one_of_the_reference_vector() -> None:
    """Filters of this version are in databases: a change of a single bit needs a new version."""
    members = [int(text) for text in VECTOR["members"]]
    its = MembershipFilter.build(int(VECTOR["guild_id"]), members, members=len(members))

    assert its.dump() == VECTOR["filter"]
    read = ReadFilter(VECTOR["filter"])
    assert {str(one): read.bits_of(int(one)) for one in VECTOR["bits"]} == VECTOR["bits"]
    kept = MembershipFilter.load(int(VECTOR["guild_id"]), VECTOR["filter"])
    assert all(one in kept and read.may_contain(one) for one in members)
    assert not any(int(one) in kept or read.may_contain(int(one)) for one in VECTOR["strangers"])


def test_an_empty_guild_knows_nobody() -> None:
    its = made_of(set())
    assert not any(user_id in its for user_id in range(1, 5000))
    assert Filters().perhaps_in(1) == []
    assert not Filters().may_be_member(GUILD, 1)


def test_a_full_filter_lets_by_chance_at_most_one_in_a_million_in() -> None:
    """Filled to its last place. Of 10 million probes, 30 hits would not be chance any more (6 sigma)."""
    members = 1_000
    guilds = Filters()
    for guild in range(1, 101):
        first = guild * 10**12
        its = MembershipFilter.build(guild, range(first, first + members), members=members)
        for joining in range(first + members, first + capacity_for(members)):
            its.add(joining)
        assert its.is_full
        guilds.put(its)

    strangers = range(10**17, 10**17 + 100_000)
    hits = sum(len(guilds.perhaps_in(stranger)) for stranger in strangers)
    assert hits < 30


def test_there_is_room_for_those_who_join() -> None:
    its = made_of(set(range(1, 1001)))
    joined = 0
    while not its.is_full:
        joined += 1
        its.add(10**9 + joined)
    assert capacity_for(1000) - 1002 <= joined <= capacity_for(1000) - 1000


def test_what_was_tampered_with_or_is_of_another_guild_is_not_read() -> None:
    text = made_of({1, 2, 3}).dump()
    raw = base64.b64decode(text)
    assert 1 in MembershipFilter.load(GUILD, text)

    for position in (0, 4, 5, 9, 17, 25, 40, len(raw) - 1):
        changed = bytearray(raw)
        changed[position] ^= 1
        assert_unreadable(bytes(changed))
    with pytest.raises(FilterUnreadable, match="the filter of"):
        MembershipFilter.load(GUILD + 1, text)
    for cut in (0, 1, 31, 63, 64, len(raw) - 1):
        assert_unreadable(raw[:cut])
    for broken in ("", "!", "é", text[:-2]):
        with pytest.raises(FilterUnreadable):
            MembershipFilter.load(GUILD, broken)


@pytest.mark.parametrize(
    ("position", "value"), [(0, b"X"), (4, b"\2"), (5, b"\0"), (5, b"\xff"), (6, b"\1"), (24, b"\0\0")]
)
def test_a_head_that_makes_no_sense_is_not_read_whatever_its_checksum(position: int, value: bytes) -> None:
    body = bytearray(base64.b64decode(made_of({1}).dump())[:-32])
    body[position : position + len(value)] = value
    assert_unreadable(bytes(body) + hashlib.sha256(body).digest())


def assert_unreadable(raw: bytes) -> None:
    with pytest.raises(FilterUnreadable):
        MembershipFilter.load(GUILD, base64.b64encode(raw).decode())


def test_filters_of_several_guilds_are_asked_at_once() -> None:
    filters = Filters()
    filters.put(made_of({1, 2}, guild=10))
    filters.put(made_of({2, 3}, guild=20))

    assert filters.perhaps_in(1) == [10]
    assert filters.perhaps_in(2) == [10, 20]
    assert filters.perhaps_in(4) == []
    assert filters.may_be_member(20, 3)
    assert not filters.may_be_member(10, 3)

    filters.keep_only([20])
    assert filters.perhaps_in(2) == [20]
    filters.drop(20)
    filters.drop(20)
    assert filters.perhaps_in(2) == []
