"""Tokens at a real beacon: which let in, how they are renewed, and what ends."""

import asyncio
from dataclasses import dataclass
from uuid import UUID

import pytest
from centrifuge import UnauthorizedError  # type: ignore[import-untyped]  # it has annotations and no py.typed

from shoal.beacon.tokens import ConnectionTokens

from .listener import DEADLINE_S, listener
from .site import CLOCK, NODE_KEY, Site

pytestmark = pytest.mark.asyncio(loop_scope="session")


@dataclass
class Renewals:
    """What stands behind a client's ``getToken``: it also knows who may have another one."""

    at: Site
    user: UUID
    lives_s: int | None
    given: int = 0
    is_revoked: bool = False

    async def get_token(self) -> str:
        if self.is_revoked:
            raise UnauthorizedError
        self.given += 1
        return self.at.portal_token(self.user, lives_s=self.lives_s)


async def test_a_token_that_ends_is_renewed_while_the_connection_lasts(at: Site) -> None:
    ann = await at.user()
    renewals = Renewals(at, ann, lives_s=2)
    token = at.portal_token(ann, lives_s=2)
    async with listener(at.client_url, token, get_token=renewals.get_token) as one:
        client = await one.expect("connected")
        async with asyncio.timeout(DEADLINE_S):
            while renewals.given < 2:  # noqa: ASYNC110 - the client asks, on its own clock
                await asyncio.sleep(0.05)
        await one.listen("nodes:online")  # still the same connection, and still good for something
        assert one.events.empty(), f"{client} was interrupted"


async def test_a_client_that_comes_with_an_old_token_gets_a_new_one(at: Site) -> None:
    ann = await at.user()
    renewals = Renewals(at, ann, lives_s=None)
    token = at.portal_token(ann, lives_s=-5)
    async with listener(at.client_url, token, get_token=renewals.get_token) as one:
        await one.expect("connected")
    assert renewals.given == 1


async def test_whoever_gets_no_other_token_is_out_when_theirs_ends(at: Site) -> None:
    ann = await at.user()
    renewals = Renewals(at, ann, lives_s=None, is_revoked=True)
    token = at.portal_token(ann, lives_s=1)
    async with listener(at.client_url, token, get_token=renewals.get_token) as one:
        await one.expect("connected")
        await one.expect("disconnected")


@pytest.mark.parametrize("secret", ["the token secret of a stranger, long enough"])
async def test_a_token_of_a_stranger_lets_nobody_in(at: Site, secret: str) -> None:
    forged = ConnectionTokens(secret, CLOCK).issue_node(at.nodes.register(), NODE_KEY)
    async with listener(at.client_url, forged.text) as one:
        assert await one.expect("disconnected") == 3500


async def test_without_a_token_nobody_gets_in(at: Site) -> None:
    async with listener(at.client_url) as one:
        assert await one.expect("disconnected") in (3501, 3500)
