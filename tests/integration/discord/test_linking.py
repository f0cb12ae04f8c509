"""Linking an account, over HTTP and by a real `shoal up` that has a bot."""

import asyncio
import json
from typing import Any
from uuid import UUID

import httpx
import pytest

from shoal.api.discord import discord_router
from tests.integration.api.serving import serve
from tests.integration.cli.shoal_command import Shoal, refused

from .stage import Stage, eventually

pytestmark = [pytest.mark.newest_servers, pytest.mark.timeout(300)]

ANN = 4001
LINK = "/api/discord/link"


async def test_a_user_reads_makes_and_removes_their_own_link(stage: Stage) -> None:
    ann, bob = await stage.user(), await stage.user()
    router = discord_router(stage.links, has_bot=True)
    async with (
        serve(stage.ledger, stage.vault, handlers=[router]) as api,
        httpx.AsyncClient(base_url=api.url, trust_env=False) as client,
    ):

        async def ask(method: str, user: UUID) -> httpx.Response:
            return await client.request(method, LINK, headers=api.token(user))

        none = await ask("GET", ann)
        assert (none.status_code, none.json()["code"]) == (404, "discord_not_linked")
        made = (await ask("POST", ann)).json()
        second = (await ask("POST", ann)).json()
        assert made["code"] != second["code"]
        with pytest.raises(Exception, match="not known"):
            await stage.links.redeem(made["code"], discord_id=ANN, discord_name="")
        assert await stage.links.redeem(second["code"], discord_id=ANN, discord_name="ann") == ann

        read = (await ask("GET", ann)).json()
        assert (read["discordId"], read["discordName"]) == (str(ANN), "ann")
        assert (await ask("GET", bob)).status_code == 404
        assert (await ask("DELETE", bob)).status_code == 204
        assert (await ask("GET", ann)).status_code == 200  # it was not bob's to remove
        assert (await ask("DELETE", ann)).status_code == 204
        assert (await ask("GET", ann)).status_code == 404

        key = await api.access.issue_key("service", "bot-links")
        answer = await client.post(LINK, headers={"Authorization": f"Bearer {key.text}"})
        assert answer.json()["code"] == "users_only"
        assert (await client.post(LINK)).status_code == 401


async def test_a_code_ends(stage: Stage) -> None:
    ann = await stage.user()
    made = await stage.links.make_code(ann)
    async with stage.ledger.connection() as connection:
        await connection.execute("UPDATE discord_link_codes SET expires_at = clock_timestamp()")
    with pytest.raises(Exception, match="not known"):
        await stage.links.redeem(made.code, discord_id=ANN, discord_name="")


async def test_one_account_belongs_to_one_user_and_one_user_has_one_account(stage: Stage) -> None:
    ann, bob = await stage.user(account=ANN), await stage.user()
    code = (await stage.links.make_code(bob)).code
    assert await stage.links.redeem(code, discord_id=ANN, discord_name="") == bob
    assert await stage.links.user_of(ANN) == bob
    assert await stage.links.accounts_of([ann, bob]) == {bob: ANN}

    other = (await stage.links.make_code(bob)).code
    await stage.links.redeem(other, discord_id=ANN + 1, discord_name="")
    assert await stage.links.accounts_of([ann, bob]) == {bob: ANN + 1}


async def test_a_code_that_many_use_at_once_works_once(stage: Stage) -> None:
    ann = await stage.user()
    code = (await stage.links.make_code(ann)).code
    tried = await asyncio.gather(
        *(stage.links.redeem(code, discord_id=ANN + n, discord_name="") for n in range(8)),
        return_exceptions=True,
    )
    assert tried.count(ann) == 1
    assert len(await stage.links.accounts_of([ann])) == 1


async def test_a_real_shoal_has_the_bot_and_links_its_owner(stage: Stage, shoal: Shoal) -> None:
    reef = await stage.there.add_guild("Reef", [ANN])
    shoal.environment["SHOAL_DISCORD_TOKEN"] = stage.there.token
    shoal.environment["SHOAL_DISCORD_API_URL"] = stage.there.url
    await asyncio.to_thread(shoal.up)
    await eventually(lambda: "help" in stage.there.world.commands and stage.there.gateway.sessions)

    nobody = await asyncio.to_thread(shoal.run, "discord", "show")
    assert "shoal discord link" in refused(nobody, code="discord_not_linked", exit_code=nobody.returncode)
    made = await asyncio.to_thread(shoal.json, "discord", "link")
    assert "Linked" in (await stage.there.answer("link", by=ANN, code=made["code"])).text
    shown = await asyncio.to_thread(shoal.json, "discord", "show")
    assert shown["discordId"] == str(ANN)

    assert "no jobs yet" in (await stage.there.answer("jobs", by=ANN)).text
    assert "Database: connected" in (await stage.there.answer("status", by=ANN, in_guild=reef)).text
    server = await stage.there.answer("server", by=ANN, in_guild=reef)
    assert "Reef" in server.text
    await asyncio.to_thread(shoal.ok, "discord", "unlink", "--yes")
    assert "shoal discord link" in (await stage.there.answer("jobs", by=ANN)).text

    await asyncio.to_thread(shoal.down)
    assert stage.there.rest.unknown == []
    assert stage.there.gateway.sessions == {}  # it said goodbye


async def test_without_a_token_there_is_nothing_to_link(stage: Stage, shoal: Shoal) -> None:
    await asyncio.to_thread(shoal.up)
    told = await asyncio.to_thread(shoal.run, "discord", "link")
    assert "SHOAL_DISCORD_TOKEN" in refused(told, code="discord_not_configured", exit_code=told.returncode)


async def test_a_wrong_token_is_told_at_the_start(stage: Stage, shoal: Shoal) -> None:
    shoal.environment["SHOAL_DISCORD_TOKEN"] = "wrong"
    shoal.environment["SHOAL_DISCORD_API_URL"] = stage.there.url
    told = await asyncio.to_thread(shoal.run, "up", "--port", "0")
    assert "discord_token_refused" in told.stderr
    assert "Traceback" not in told.stderr


async def test_the_doctor_says_what_is_wrong_with_the_bot(stage: Stage, shoal: Shoal) -> None:
    async def finding() -> dict[str, Any]:
        told = await asyncio.to_thread(shoal.run, "doctor", "--json")
        (found,) = [one for one in json.loads(told.stdout) if one["part"] == "discord"]
        return dict(found)

    assert await finding() == {"part": "discord", "ok": True, "found": "no token: no bot", "advice": ""}
    shoal.environment["SHOAL_DISCORD_TOKEN"] = stage.there.token
    shoal.environment["SHOAL_DISCORD_API_URL"] = stage.there.url
    assert (await finding())["found"] == "the bot Shoal, which may see the members of servers"
    stage.there.world.allowed_intents = 0
    assert "Server Members Intent" in (await finding())["advice"]
    stage.there.go_away()
    assert "does not answer" in (await finding())["found"]
    stage.there.come_back()
    shoal.environment["SHOAL_DISCORD_TOKEN"] = "another one"
    assert "Reset Token" in (await finding())["advice"]
