"""Who may hear and say what, asked by the official client through a real beacon. Strangers are refused."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any
from uuid import UUID, uuid4

import pytest
from centrifuge import CentrifugeError  # type: ignore[import-untyped]  # it has annotations and no py.typed

from shoal.ledger.pool import Ledger
from tests.integration.jobs.ledger_client import LedgerClient

from .listener import Listener, listener
from .site import Site

pytestmark = pytest.mark.asyncio(loop_scope="session")

DENIED, UNKNOWN, THERE_ALREADY = 103, 102, 105


async def start_job(ledger: Ledger, user: UUID) -> UUID:
    async with ledger.connection() as connection:
        client = LedgerClient(connection)
        job_type = f"job_{uuid4().hex[:12]}"
        await client.register(job_type)
        return await client.create(job_type, user_id=user)


async def refusal(one: Listener, channel: str) -> int:
    with pytest.raises(PermissionError) as refused:
        await one.listen(channel)
    return int(refused.value.args[0])


async def code_of(call: Any) -> int:
    with pytest.raises(CentrifugeError) as refused:
        await call
    return int(refused.value.code)


async def test_a_user_hears_their_own_job_and_learns_its_state_at_once(
    at: Site, shared_ledger: Ledger
) -> None:
    ann = await at.user()
    job = await start_job(shared_ledger, ann)
    async with listener(at.client_url, at.portal_token(ann)) as one:
        told = await one.listen(f"jobs:{job}")
    assert (told["type"], told["status"], told["percent"]) == ("progress", "queued", 0)
    assert job in at.watched.now()


async def test_nobody_hears_the_job_of_another(at: Site, shared_ledger: Ledger) -> None:
    ann, bob = await at.user(), await at.user()
    job = await start_job(shared_ledger, ann)
    async with listener(at.client_url, at.portal_token(bob)) as one:
        assert await refusal(one, f"jobs:{job}") == DENIED
        assert await refusal(one, f"jobs:{uuid4()}") == DENIED
    assert job not in at.watched.now()


async def test_a_job_has_one_channel_and_no_second_spelling_of_it(at: Site, shared_ledger: Ledger) -> None:
    ann = await at.user()
    job = await start_job(shared_ledger, ann)
    async with listener(at.client_url, at.portal_token(ann)) as one:
        for spelling in (str(job).upper(), job.hex, f"{{{job}}}", "x"):
            assert await refusal(one, f"jobs:{spelling}") == DENIED, spelling


async def test_a_node_is_brought_to_its_own_channel_and_hears_no_other(
    at: Site, shared_ledger: Ledger
) -> None:
    mine, other = at.nodes.register(), at.nodes.register()
    job = await start_job(shared_ledger, UUID(mine))  # as if a user had the id of the node
    async with listener(at.client_url, at.node_token(mine)) as one:
        assert await one.expect("server subscribed") == f"nodes:{mine}"
        assert await refusal(one, f"nodes:{mine}") == THERE_ALREADY
        assert await refusal(one, f"nodes:{other}") == DENIED
        assert await refusal(one, "nodes:online") == DENIED
        assert await refusal(one, f"jobs:{job}") == DENIED
        await at.beacon.publish(f"nodes:{other}", "not for me")
        await at.beacon.publish(f"nodes:{mine}", {"type": "ping"})
        assert await one.expect("publication") == {"type": "ping"}


async def test_a_user_hears_no_node_and_learns_who_is_online_by_heartbeat(at: Site) -> None:
    node = at.nodes.register()
    ann = await at.user()
    async with listener(at.client_url, at.portal_token(ann)) as one:
        assert await refusal(one, f"nodes:{node}") == DENIED
        told = await one.listen("nodes:online")
        assert node in told["nodes"]
        again = await one.client.rpc("getOnlineNodes", None)
        assert again.data == told
        assert await code_of(one.client.presence("nodes:online")) in (DENIED, 108)


async def test_nobody_hears_results_and_only_nodes_hand_them_in(at: Site) -> None:
    node, ann = at.nodes.register(), await at.user()
    result = {"chunkId": "c", "result": {"iterations": 1}}
    async with listener(at.client_url, at.node_token(node)) as one:
        await one.expect("connected")
        await one.client.publish("chunks:complete", result)
        assert await code_of(one.client.publish("chunks:complete", "unknown")) == 1000
        assert await code_of(one.client.publish("chunks:other", result)) == DENIED
        assert await refusal(one, "chunks:complete") == DENIED
    async with listener(at.client_url, at.portal_token(ann)) as one:
        await one.expect("connected")
        assert await code_of(one.client.publish("chunks:complete", result)) == DENIED
        assert await refusal(one, "chunks:complete") == DENIED
    assert [handed for handed in at.nodes.handed_in if handed[0] == node] == [(node, result)]


async def test_nobody_speaks_where_others_listen(at: Site, shared_ledger: Ledger) -> None:
    node, ann = at.nodes.register(), await at.user()
    job = await start_job(shared_ledger, ann)
    for token in (at.node_token(node), at.portal_token(ann)):
        async with listener(at.client_url, token) as one:
            await one.expect("connected")
            for channel in (f"jobs:{job}", f"nodes:{node}", "nodes:online"):
                assert await code_of(one.client.publish(channel, {"type": "completed"})) == DENIED, channel


async def test_what_nobody_opened_is_closed(at: Site) -> None:
    ann = await at.user()
    async with listener(at.client_url, at.portal_token(ann)) as one:
        assert await refusal(one, "others:1") == UNKNOWN
        assert await refusal(one, "plain") in (UNKNOWN, DENIED)
        assert await code_of(one.client.publish("others:1", 1)) == UNKNOWN
        assert await code_of(one.client.rpc("dropTables", None)) == 104
        node = at.nodes.register()
    async with listener(at.client_url, at.node_token(node)) as one:
        await one.expect("connected")
        assert await code_of(one.client.rpc("getOnlineNodes", None)) == DENIED


async def test_a_revoked_node_is_cut_off_whatever_it_asks_and_its_token_says(at: Site) -> None:
    asking: list[Callable[[Any], Awaitable[Any]]] = [
        lambda client: client.rpc("getOnlineNodes", None),
        lambda client: client.publish("chunks:complete", {}),
        lambda client: client.new_subscription("nodes:online").subscribe(),
    ]
    for ask in asking:
        node = at.nodes.register()
        async with listener(at.client_url, at.node_token(node)) as one:
            await one.expect("connected")
            del at.nodes.known[node]
            with suppress(CentrifugeError):  # the connection goes before an answer comes
                await ask(one.client)
            assert await one.expect("disconnected") == 4501
    assert not [handed for handed in at.nodes.handed_in if handed[1] == {}]


async def test_a_removed_user_is_cut_off_at_the_next_thing_they_ask(at: Site, shared_ledger: Ledger) -> None:
    ann = await at.user()
    job = await start_job(shared_ledger, ann)
    async with listener(at.client_url, at.portal_token(ann)) as one:
        await one.expect("connected")
        async with shared_ledger.connection() as connection:
            await connection.execute("DELETE FROM jobs WHERE id = $1", job)
            await connection.execute("DELETE FROM users WHERE id = $1", ann)
        await one.client.new_subscription("nodes:online").subscribe()
        assert await one.expect("disconnected") == 4501
