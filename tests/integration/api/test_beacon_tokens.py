"""``POST /api/token``: what a user connects to the beacon with."""

from datetime import UTC, datetime, timedelta

import httpx
import pytest

from shoal.api.beacon import token_handler
from shoal.beacon.tokens import ConnectionTokens
from shoal.ledger.pool import Ledger
from shoal.runtime.clock import SystemClock
from shoal.vault.store import Vault

from .job_desk import JobDesk
from .serving import serve

pytestmark = pytest.mark.asyncio(loop_scope="session")

SECRET = "the secret of the beacon, long enough"
TOKENS = ConnectionTokens(SECRET, SystemClock())


async def test_a_user_gets_a_token_of_their_own_for_an_hour(
    ledger: Ledger, vault: Vault, desk: JobDesk
) -> None:
    handler = token_handler(TOKENS, client_url="wss://beacon.example.org/ws", public_url="")
    async with serve(ledger, vault, handlers=[handler]) as api, httpx.AsyncClient(trust_env=False) as client:
        answer = await client.post(f"{api.url}/api/token", headers=api.token(desk.user))

    given = answer.json()
    assert (answer.status_code, given["url"]) == (200, "wss://beacon.example.org/ws")
    identity = TOKENS.verify(given["token"])
    assert (identity.user, identity.meta) == (str(desk.user), {"kind": "portal"})
    left = datetime.fromisoformat(given["expiresAt"]) - datetime.now(UTC)
    assert timedelta(minutes=59) < left <= timedelta(hours=1)


async def test_the_hub_is_where_the_api_is(ledger: Ledger, vault: Vault, desk: JobDesk) -> None:
    handler = token_handler(TOKENS, client_url="", public_url="")
    async with serve(ledger, vault, handlers=[handler]) as api, httpx.AsyncClient(trust_env=False) as client:
        here = (await client.post(f"{api.url}/api/token", headers=api.token())).json()["url"]

    assert here == api.url.replace("http://", "ws://") + "/connection/websocket"


async def test_a_token_of_the_beacon_opens_nothing_else(ledger: Ledger, vault: Vault, desk: JobDesk) -> None:
    issued = TOKENS.issue_portal(str(desk.user))
    answer = await desk.client.get("/api/me", headers={"Authorization": f"Bearer {issued.text}"})
    assert (answer.status_code, answer.json()["code"]) == (401, "token_invalid")


async def test_only_users_get_one_and_only_where_there_is_a_beacon(
    ledger: Ledger, vault: Vault, desk: JobDesk
) -> None:
    handler = token_handler(None, client_url="", public_url="")
    async with serve(ledger, vault, handlers=[handler]) as api, httpx.AsyncClient(trust_env=False) as client:

        async def refusal(headers: dict[str, str]) -> tuple[int, str]:
            answer = await client.post(f"{api.url}/api/token", headers=headers)
            return answer.status_code, answer.json()["code"]

        assert await refusal({}) == (401, "token_missing")
        assert await refusal(await desk.key("service")) == (403, "users_only")
        assert await refusal(api.token()) == (503, "beacon_not_configured")
