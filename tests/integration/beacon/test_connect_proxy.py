"""The other configuration, the seed's way: Centrifugo asks a sentinel who may connect and who may stay."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from shoal.ledger.pool import Ledger
from shoal.vault.store import Vault

from .listener import DEADLINE_S, listener
from .site import CentrifugoSite, centrifugo_site

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest_asyncio.fixture(loop_scope="session")
async def at(
    shared_ledger: Ledger, vault: Vault, tmp_path: Path, redis_url: str
) -> AsyncIterator[CentrifugoSite]:
    async with centrifugo_site(
        shared_ledger, vault, tmp_path, redis_url=redis_url, is_connect_asked=True
    ) as opened:
        yield opened


async def test_a_client_connects_with_its_token_as_data_and_stays_as_long_as_it_is_welcome(
    at: CentrifugoSite,
) -> None:
    node = at.nodes.register()
    token = at.node_token(node, lives_s=2)
    async with listener(at.client_url, data={"token": token}) as one:
        assert await one.expect("server subscribed") == f"nodes:{node}"
        other = at.nodes.register()
        with pytest.raises(PermissionError):
            await one.listen(f"nodes:{other}")
        await one.client.publish("chunks:complete", {"n": 1})
        assert at.nodes.handed_in == [(node, {"n": 1})]
        # Its token ends, the sentinel renews it, and nothing is interrupted: it hears what is said later.
        asked = at.nodes.asked
        async with asyncio.timeout(DEADLINE_S):
            while at.nodes.asked == asked:  # noqa: ASYNC110 - Centrifugo asks, on its own clock
                await asyncio.sleep(0.02)
        await at.beacon.publish(f"nodes:{node}", "still there")
        assert await one.expect("publication") == "still there"


async def test_whoever_is_revoked_does_not_stay_and_does_not_come_back(at: CentrifugoSite) -> None:
    node = at.nodes.register()
    async with listener(at.client_url, data={"token": at.node_token(node, lives_s=1)}) as one:
        await one.expect("connected")
        del at.nodes.known[node]
        assert await one.expect("connecting") == 3005
        await one.expect("disconnected")  # it came back with a token that had ended, and was sent away


@pytest.mark.parametrize("data", [None, {}, {"token": "forged"}])
async def test_without_a_good_token_nobody_connects(at: CentrifugoSite, data: object) -> None:
    async with listener(at.client_url, data=data) as one:
        assert await one.expect("disconnected") == 3500


async def test_a_centrifugo_that_shows_the_wrong_secret_lets_nobody_in(
    shared_ledger: Ledger, vault: Vault, tmp_path: Path, redis_url: str
) -> None:
    (tmp_path / "wrong").mkdir()
    async with centrifugo_site(
        shared_ledger, vault, tmp_path / "wrong", redis_url=redis_url, shown_secret="guessed"
    ) as at:
        node = at.nodes.register()
        async with listener(at.client_url, at.node_token(node)) as one:
            await one.expect("connected")  # that is between the token and Centrifugo
            for call in (
                one.client.publish("chunks:complete", {"n": 1}),
                one.client.rpc("getOnlineNodes", None),
            ):
                with pytest.raises(Exception, match="internal"):
                    await call
    assert at.nodes.handed_in == []
