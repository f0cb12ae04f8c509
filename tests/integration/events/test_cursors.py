"""Cursors over committed events: nothing is skipped, order holds, and only who holds one moves it."""

import pytest

from .conftest import OpenTeller
from .outbox import Teller, notes


async def test_what_commits_late_is_not_skipped(ann: Teller, bob: Teller) -> None:
    """The ids of the outbox are drawn before the commit: a cursor over ids would pass by the first one."""
    late = bob.connection.transaction()
    await late.start()
    await bob.append("first drawn")
    await ann.append("first committed")
    assert await ann.tell() == ["first committed"]
    await late.commit()
    assert await ann.tell() == ["first drawn"]
    assert await ann.tell() == []


async def test_an_aggregate_is_told_in_order_though_turns_are_short(ann: Teller) -> None:
    for number in range(10):
        await ann.append(f"{number}", aggregate="x")
    told: list[str] = []
    await ann.order()
    while rows := await ann.take(at_most=3):
        told += notes(rows)
        await ann.advance(rows)
    assert told == [f"{number}" for number in range(10)]


async def test_two_never_hold_the_same_partition(ann: Teller, bob: Teller) -> None:
    for number in range(64):
        await ann.append(f"{number}", aggregate=f"a{number}")
    await ann.order()
    hers, his = await ann.take(partitions=8), await bob.take(partitions=16)
    assert {row["partition"] for row in hers}.isdisjoint({row["partition"] for row in his})
    assert len(notes(hers)) + len(notes(his)) == 64


async def test_whose_time_was_up_moves_nothing(ann: Teller, bob: Teller) -> None:
    await ann.append("one", "two")
    await ann.order()
    hers = await ann.take(lease_s=0)
    his = await bob.take()
    assert notes(hers) == notes(his) == ["one", "two"]
    assert await ann.advance(hers) == []
    assert await ann.fail(hers[0], "failed") == "lost"
    assert await bob.advance(his) == [his[0]["partition"]]
    assert await ann.tell() == []


async def test_an_effect_in_the_ledger_and_its_cursor_come_together_or_not_at_all(
    ann: Teller, bob: Teller
) -> None:
    await ann.connection.execute("CREATE TABLE effects (note text)")
    await ann.append("one")
    await ann.order()

    async def effect(teller: Teller, *, lease_s: float) -> bool:
        rows = await teller.take(lease_s=lease_s)
        transaction = teller.connection.transaction()
        await transaction.start()
        await teller.connection.execute("INSERT INTO effects VALUES ($1)", notes(rows)[0])
        if teller is ann:
            assert await effect(bob, lease_s=30)  # while she was away, her time was up
        kept = bool(await teller.advance(rows))
        await (transaction.commit() if kept else transaction.rollback())
        return kept

    assert not await effect(ann, lease_s=0)
    assert await ann.connection.fetchval("SELECT count(*) FROM effects") == 1


async def test_each_sink_has_cursors_of_its_own_and_what_it_asked_for(
    ann: Teller, open_teller: OpenTeller
) -> None:
    other = await (await open_teller("other")).add("nothing.*")
    await ann.append("one")
    await ann.order()
    rows = await other.take()
    assert notes(rows) == []
    await other.advance(rows)
    assert await other.take() == []
    assert await ann.tell() == ["one"]


async def test_sinks_that_want_nothing_of_it_are_moved_on_all_at_once(
    ann: Teller, open_teller: OpenTeller
) -> None:
    other = await (await open_teller("other")).add("nothing.*")
    held = await (await open_teller("held")).add("nothing.*")
    await ann.append("one", "two")
    await ann.order()
    await held.take()
    skip = "SELECT shoal.skip_unwanted_events()"
    assert await ann.connection.fetchval(skip) == 2  # the other one, and the one that starts jobs
    assert await ann.connection.fetchval(skip) == 0
    assert await other.take() == []
    assert await ann.tell() == ["one", "two"]


async def test_a_cursor_is_not_moved_past_what_its_sink_is_told_again(
    ann: Teller, open_teller: OpenTeller
) -> None:
    other = await (await open_teller("other")).add("thing.*")
    await ann.append("one")
    assert await other.tell() == ["one"]
    await ann.tell()
    await ann.connection.fetchval("SELECT replay_events('other')")
    await ann.order()
    await ann.connection.fetchval("SELECT shoal.skip_unwanted_events()")
    assert await ann.take() == []
    assert notes(await other.take()) == ["one"]


async def test_a_new_sink_is_told_what_happens_from_then_on(ann: Teller, open_teller: OpenTeller) -> None:
    await ann.append("before")
    await ann.tell()
    late = await (await open_teller("late")).add()
    await ann.append("after")
    assert await late.tell() == ["after"]


async def test_a_poison_event_goes_to_the_dead_letters_and_those_behind_it_on(ann: Teller) -> None:
    await ann.append("poison", "fine")
    await ann.order()
    for attempt in range(1, 11):
        rows = await ann.take()
        assert rows[0]["attempts"] == attempt - 1
        verdict = await ann.fail(rows[0], "failed", f"attempt {attempt}")
        assert verdict == ("dead" if attempt == 10 else "retrying")
        assert attempt == 10 or await ann.take() == []  # it waits
        await ann.forget_pauses()
    (letter,) = await ann.connection.fetch("SELECT reason, attempts FROM event_dead_letter_t")
    assert tuple(letter) == ("attempt 10", 10)
    assert await ann.tell() == ["fine"]


async def test_a_refused_event_is_not_tried_again(ann: Teller) -> None:
    await ann.append("fine", "poison", "fine too")
    await ann.order()
    rows = await ann.take()
    assert await ann.fail(rows[1], "refused") == "dead"
    assert await ann.tell() == ["fine too"]


async def test_a_sink_that_is_away_makes_no_event_a_poison(ann: Teller) -> None:
    await ann.append("one")
    await ann.order()
    for _ in range(30):
        (row,) = await ann.take()
        assert await ann.fail(row, "away", "connection refused") == "retrying"
        await ann.forget_pauses()
    assert await ann.tell() == ["one"]


async def test_a_webhook_that_takes_nothing_at_all_is_what_is_broken(open_teller: OpenTeller) -> None:
    """As long as nothing moves, no event is given up; once others pass, the one that fails is the poison."""
    hook = await (await open_teller("hook")).add(kind="webhook")
    await hook.append("poison", aggregate="a")
    await hook.append("fine", aggregate="b")
    await hook.order()
    for _ in range(15):
        rows = await hook.take()
        verdicts = {await hook.fail(row, "failed") for row in rows}
        assert verdicts == {"retrying"}
        await hook.forget_pauses()
    rows = await hook.take()
    fine = [row for row in rows if row["payload"]["note"] == "fine"]
    await hook.advance(fine)
    (poison,) = [row for row in rows if row["payload"]["note"] == "poison"]
    assert await hook.fail(poison, "failed") == "dead"


async def test_events_and_dead_letters_are_told_again_with_their_ids(ann: Teller) -> None:
    await ann.append("one", "two")
    await ann.order()
    rows = await ann.take()
    await ann.advance(rows)
    ids = [row["event_id"] for row in rows]
    assert await ann.connection.fetchval("SELECT replay_events('all', p_types => '{thing.*}')") == 2
    await ann.order()
    again = await ann.take()
    assert [row["event_id"] for row in again] == ids
    assert await ann.fail(again[0], "refused") == "dead"
    assert await ann.tell() == ["two"]
    assert await ann.connection.fetchval("SELECT replay_dead_letters('all')") == 1
    assert await ann.tell() == ["one"]


async def test_what_is_told_again_is_told_to_that_sink_alone(ann: Teller, open_teller: OpenTeller) -> None:
    other = await (await open_teller("other")).add()
    await ann.append("one")
    assert await ann.tell() == await other.tell() == ["one"]
    await ann.connection.fetchval("SELECT replay_events('all')")
    assert await other.tell() == []
    assert await ann.tell() == ["one"]


async def test_the_outbox_keeps_what_a_sink_has_not_been_told(ann: Teller, open_teller: OpenTeller) -> None:
    other = await (await open_teller("other")).add()
    await ann.append("one", "two")
    await ann.tell()
    delete = "SELECT shoal.delete_told_messages()"
    assert await ann.connection.fetchval(delete) == 0
    assert await other.tell() == ["one", "two"]
    assert await (await open_teller("start-jobs")).tell() == []  # the consumer that is always there
    assert await ann.connection.fetchval(delete) == 2


async def test_old_events_go_with_what_was_left_of_them(ann: Teller) -> None:
    await ann.append("old")
    await ann.order()
    old = "UPDATE event_store_t SET occurred_at = occurred_at - interval '40 days'"
    await ann.connection.execute(old)
    await ann.append("new")
    delete = "SELECT deleted, untold FROM shoal.delete_old_events('30 days')"
    (gone,) = await ann.connection.fetch(delete)
    assert tuple(gone) == (1, 1)
    assert await ann.tell() == ["new"]
    assert await ann.take() == []


async def test_a_cursor_whose_events_are_gone_comes_to_the_end(ann: Teller) -> None:
    await ann.append("gone")
    await ann.order()
    await ann.connection.execute("DELETE FROM outbox_message_t")
    rows = await ann.take()
    assert notes(rows) == []
    assert len(rows) == 1
    await ann.advance(rows)
    assert await ann.take() == []


@pytest.mark.newest_servers
async def test_events_that_came_with_a_dump_are_put_before_what_happens_here(ann: Teller) -> None:
    await ann.append("from elsewhere")
    await ann.connection.execute("UPDATE event_store_t SET tx = '900000000'::xid8")
    assert await ann.connection.fetchval("SELECT shoal.heal_event_order()") == 1
    assert await ann.connection.fetchval("SELECT shoal.heal_event_order()") == 0
