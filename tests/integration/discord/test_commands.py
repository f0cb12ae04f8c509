"""What people can ask the bot, through Discord's protocol, on a real ledger."""

import asyncio
from uuid import UUID

import pytest

from shoal.discord.ports import NodeShown
from tests.integration.jobs.ledger_client import LedgerClient, graph, task

from .stage import Stage, guilds_become

pytestmark = pytest.mark.newest_servers

ANN, BOB = 4001, 4002


async def test_who_is_not_linked_is_told_how_and_then_is_known(stage: Stage) -> None:
    user = await stage.user("Ann")
    async with stage.bot():
        for name in ("jobs", "nodes"):
            stranger = await stage.there.answer(name, by=ANN)
            assert "shoal discord link" in stranger.text
            assert stranger.is_private

        made = await stage.links.make_code(user)
        linked = await stage.there.answer("link", by=ANN, code=made.code.lower())
        assert "Linked" in linked.text
        assert "Ann" in linked.text
        assert linked.is_private
        assert await stage.links.user_of(ANN) == user

        known = await stage.there.answer("jobs", by=ANN)
        assert "no jobs yet" in known.text

        again = await stage.there.answer("link", by=BOB, code=made.code)
        assert "not known" in again.text  # used up
        gone = await stage.there.answer("unlink", by=ANN)
        assert "not linked any more" in gone.text
        assert await stage.links.user_of(ANN) is None


async def test_a_user_sees_their_own_jobs_and_no_others(stage: Stage) -> None:
    ann, bob = await stage.user(account=ANN), await stage.user(account=BOB)
    mine, theirs = await jobs_of(stage, ann, bob)
    async with stage.bot():
        listed = await stage.there.answer("jobs", by=ANN)
        assert str(mine) in listed.text
        assert str(theirs) not in listed.text
        assert listed.is_private

        shown = await stage.there.answer("job", by=ANN, job=str(mine))
        assert str(mine) in shown.text
        refused = await stage.there.answer("job", by=ANN, job=str(theirs))
        assert "There is no job" in refused.text
        wrong = await stage.there.answer("job", by=ANN, job="x")
        assert "not the id of a job" in wrong.text


async def test_jobs_are_offered_while_one_types(stage: Stage) -> None:
    ann, bob = await stage.user(account=ANN), await stage.user(account=BOB)
    mine, theirs = await jobs_of(stage, ann, bob)
    async with stage.bot():
        offered = await stage.there.choices("job", "job", "", by=ANN)
        assert [value for _, value in offered] == [str(mine)]
        assert await stage.there.choices("job", "job", str(mine)[-5:], by=ANN) == offered
        assert await stage.there.choices("job", "job", str(theirs), by=ANN) == []
        assert await stage.there.choices("job", "job", "", by=4999) == []  # nobody that is known


async def test_a_message_follows_its_job_until_the_end(stage: Stage) -> None:
    ann = await stage.user(account=ANN)
    async with stage.ledger.connection() as connection:
        client = LedgerClient(connection)
        job = await client.start(graph(task("one"), task("two", "one")), user_id=ann)
        async with stage.bot():
            asked = await stage.there.answer("job", by=ANN, job=str(job.id))
            assert "0 %" in asked.text
            await asyncio.sleep(4.5)  # two looks, at which nothing has changed
            assert len(asked.edits) == 1  # the answer itself
            await client.complete(await client.claim_one())
            await asked.until(lambda one: "1 of 2" in one.text)
            await client.complete(await client.claim_one())
            await asked.until(lambda one: "complete" in one.text)
            assert "100 %" in asked.text

            assert len(asked.edits) <= 5  # and one for each change


async def test_nodes_of_oneself_and_of_a_server(stage: Stage) -> None:
    ann, bob = await stage.user(account=ANN), await stage.user(account=BOB)
    guild = await stage.there.add_guild("Coral *Reef*", [ANN])
    mine = NodeShown(name="attic", owner=str(ann), is_online=True, backlog=3, max_parallel=4)
    theirs = NodeShown(name="cellar", owner=str(bob), is_online=False)
    stage.fleet.nodes = [mine, theirs]
    stage.fleet.open_to = {str(guild.id): [mine, theirs]}
    async with stage.bot() as memberships:
        await stage.links.user_of(ANN)
        own = await stage.there.answer("nodes", by=ANN)
        assert "attic" in own.text
        assert "cellar" not in own.text
        assert own.is_private

        await guilds_become(memberships, ann, [guild.id])
        members = await stage.there.answer("members", by=ANN, in_guild=guild)
        assert f"<@{ANN}>" in members.text
        assert f"<@{BOB}>" not in members.text  # linked, and not a member here: not named
        assert "somebody" in members.text
        assert "Coral \\*Reef\\*" in members.text

        server = await stage.there.answer("server", by=BOB, in_guild=guild)
        assert "1 online of 2" in server.text
        assert "up to date" in server.text
        assert not server.is_private


async def test_about_everything_anybody_may_ask(stage: Stage) -> None:
    async with stage.bot():
        assert "Database: connected" in (await stage.there.answer("status", by=BOB)).text
        assert "Pong" in (await stage.there.answer("ping", by=BOB)).text
        assert "reads no messages" in (await stage.there.answer("about", by=BOB)).text
        told = (await stage.there.answer("help", by=BOB)).text
        assert {f"/{name}" for name in stage.there.world.commands} <= set(told.replace("*", " ").split())
    assert stage.there.rest.unknown == []
    assert stage.there.gateway.intents_asked & (1 << 15) == 0  # what people write is not read


async def test_commands_of_a_server_are_not_offered_elsewhere(stage: Stage) -> None:
    async with stage.bot():
        for name in ("members", "server"):
            assert stage.there.world.commands[name]["contexts"] == [0]


async def test_codes_cannot_be_guessed_at_leisure(stage: Stage) -> None:
    async with stage.bot():
        for number in range(5):
            asked = await stage.there.answer("link", by=ANN, code=f"2222-222{2 + number}")
            assert "not known" in asked.text
        asked = await stage.there.answer("link", by=ANN, code="2222-2222")
        assert "too many" in asked.text
        other = await stage.there.answer("link", by=BOB, code="2222-2222")
        assert "not known" in other.text


async def test_a_defect_is_told_by_a_number_and_not_by_its_words(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(owner: str) -> list[NodeShown]:
        raise RuntimeError("a secret inside")

    monkeypatch.setattr(stage.fleet, "nodes_of", broken)
    await stage.user(account=ANN)
    async with stage.bot():
        asked = await stage.there.answer("nodes", by=ANN)
        assert "went wrong" in asked.text
        assert "secret" not in asked.text


async def test_being_told_to_wait_delays_an_answer_and_loses_none(stage: Stage) -> None:
    async with stage.bot():
        stage.there.limits.refuse("PATCH .*@original", retry_after_s=0.5, times=2)
        asked = await stage.there.answer("status", by=ANN)
        assert "Database" in asked.text
    assert len(stage.there.limits.refused) == 2
    assert stage.there.limits.overrun == []


async def jobs_of(stage: Stage, *users: UUID) -> list[UUID]:
    async with stage.ledger.connection() as connection:
        client = LedgerClient(connection)
        return [(await client.start(graph(task("one")), user_id=user)).id for user in users]
