"""A node at work, on the real hub: what it holds, what it hands in, and whatever comes in between."""

import asyncio
import stat

import pytest

from shoal.beacon.model import DisconnectCode, Refused
from shoal.beacon.settings import websocket_url
from shoal.runtime.errors import Conflict, Forbidden
from shoal.wire.fleet import NodeError
from tests.support.wire import wire_to_web

from .conftest import StartNode
from .desk import Desk, serve_desk


async def test_it_registers_connects_computes_what_it_is_given_and_keeps_nothing(
    desk: Desk, start_node: StartNode
) -> None:
    node = start_node()
    await desk.calls("getAssignedChunks")
    pushed, found = desk.chunk(), desk.chunk()
    await desk.assign(pushed)
    desk.give(found)
    await desk.has_results(pushed, found)
    result = desk.results[pushed.id]
    assert (result["meanDps"], result["minDps"], result["maxDps"], result["iterations"]) == (
        5.5,
        1.0,
        10.0,
        10,
    )
    await desk.until(lambda: node.kept == 0)
    assert [one.claim_code for one in node.registered] == ["CLAIM-ME"]
    first = desk.heartbeats[0]
    assert (first.max_parallel, first.chunk_s, first.chunks) == (1, None, {})
    assert {"count@1", "slow@1"} <= {*first.engines}
    assert first.version.startswith("shoal ")


async def test_it_is_the_same_node_when_it_comes_again_and_its_key_is_its_own(
    desk: Desk, start_node: StartNode
) -> None:
    node = start_node()
    await desk.calls("heartbeat")
    key = desk.key
    with pytest.raises(Conflict, match="runs already"):
        start_node()
    await node.stop()
    desk.asked.clear()
    node = start_node()
    await desk.calls("heartbeat")
    assert desk.key == key
    mode = stat.S_IMODE(node.folder.key.stat().st_mode)
    assert mode == 0o600


async def test_a_push_that_got_lost_is_found_by_the_next_heartbeat(desk: Desk, start_node: StartNode) -> None:
    start_node()
    await desk.calls("getAssignedChunks")
    desk.give(lost := desk.chunk())
    await desk.has_results(lost)
    assert desk.asked["getAssignedChunks"] == 2


async def test_the_next_chunks_come_with_the_verdict(desk: Desk, start_node: StartNode) -> None:
    start_node(node_heartbeat_s=30.0)
    await desk.calls("getAssignedChunks")
    first, *rest = (desk.chunk() for _ in range(30))
    desk.waiting = list(rest)
    await desk.assign(first)
    await desk.has_results(*rest)
    assert desk.asked["completeChunk"] == 30
    assert desk.asked["getAssignedChunks"] == 1


async def test_a_verdict_that_got_lost_is_asked_for_again_and_nothing_counts_twice(
    desk: Desk, start_node: StartNode
) -> None:
    node = start_node()
    await desk.calls("heartbeat")
    desk.lose["completeChunk"] = 3
    await desk.assign(one := desk.chunk())
    await desk.until(lambda: desk.asked["completeChunk"] == 2)
    assert node.kept == 1, "it is on the disk as long as there is no verdict"
    await desk.until(lambda: node.kept == 0)
    assert desk.asked["completeChunk"] == 4
    assert {*desk.results} == {one.id}


@pytest.mark.parametrize(
    ("refused", "is_told_again"),
    [
        (Refused(NodeError.CHUNK_NOT_FOUND, "chunk not found"), False),
        (Refused(500, "of no use"), False),
        (Refused(NodeError.RATE_LIMITED, "slow down", temporary=True), True),
        (Refused(1500, "of use", temporary=True), True),
    ],
)
async def test_a_result_is_told_again_if_that_can_help(
    desk: Desk, start_node: StartNode, refused: Refused, is_told_again: bool
) -> None:
    node = start_node()
    await desk.calls("heartbeat")
    desk.refuse["completeChunk"] = refused
    await desk.assign(desk.chunk())
    await desk.calls("completeChunk")
    if is_told_again:
        await desk.calls("completeChunk")
        assert node.kept == 1
    else:
        await desk.until(lambda: node.kept == 0)
        await desk.calls("heartbeat", 3)
        assert desk.asked["completeChunk"] == 1


async def test_what_cannot_be_computed_is_said_with_the_reason(desk: Desk, start_node: StartNode) -> None:
    desk.config = b'{"how": "raise"}'
    start_node()
    await desk.calls("heartbeat")
    bad, unknown, odd = desk.chunk("bad"), desk.chunk("unheard-of"), desk.chunk(config=b"another")
    await desk.assign(bad, unknown, odd)
    await desk.until(lambda: len(desk.failures) == 3)
    assert desk.failures == {
        bad.id: "engine_failed",
        unknown.id: "unknown_engine",
        odd.id: "config_not_found",
    }


async def test_a_config_is_fetched_once_and_waited_for(desk: Desk, start_node: StartNode) -> None:
    node = start_node()
    await desk.calls("heartbeat")
    path = f"/config/{desk.chunk().config_hash}"
    desk.is_away = True
    await desk.assign(*(chunks := [desk.chunk() for _ in range(5)]))
    await asyncio.sleep(1.0)
    assert not desk.asked[path]
    desk.is_away = False
    await desk.has_results(*chunks)
    assert desk.asked[path] == 1
    assert not desk.failures
    assert len(list(node.folder.configs.iterdir())) == 1


@pytest.mark.parametrize("is_told", [True, False])
async def test_what_was_taken_back_is_stopped_told_or_not(
    desk: Desk, start_node: StartNode, is_told: bool
) -> None:
    start_node(node_heartbeat_s=30.0 if is_told else 0.3)
    await desk.calls("getAssignedChunks")
    await desk.assign(taken := desk.chunk("slow", iterations=100_000))
    await desk.take_back(taken, silently=not is_told)
    await desk.assign(after := desk.chunk())
    await desk.has_results(after)
    assert {*desk.results} == {after.id}


async def test_a_server_that_forgot_gets_the_result_once_more(desk: Desk, start_node: StartNode) -> None:
    start_node()
    await desk.calls("heartbeat")
    await desk.assign(one := desk.chunk())
    await desk.has_results(one)
    before = desk.results.pop(one.id)
    desk.give(one)  # as an append-only file that lost its end
    await desk.has_results(one)
    assert desk.results[one.id] == before


async def test_it_comes_back_after_every_kind_of_end_but_one(desk: Desk, start_node: StartNode) -> None:
    start_node()
    await desk.calls("heartbeat")
    for code in (
        DisconnectCode.FORCE_RECONNECT,
        DisconnectCode.RATE_LIMITED,
        DisconnectCode.INVALID_TOKEN,
        DisconnectCode.FORCE_NO_RECONNECT,
        DisconnectCode.AUTHENTICATION_FAILED,
    ):
        await desk.cut(code)
        await desk.calls("getAssignedChunks")


async def test_a_revoked_node_ends_and_says_why(desk: Desk, start_node: StartNode) -> None:
    node = start_node()
    await desk.assign(desk.chunk("slow", iterations=100_000))
    await desk.calls("heartbeat")
    await desk.revoke()
    with pytest.raises(Forbidden, match="revoked") as raised:
        await node.ended()
    assert raised.value.code == "node_revoked"
    assert node.folder.key.exists()


async def test_one_that_was_revoked_while_it_was_away_is_not_let_in(
    desk: Desk, start_node: StartNode
) -> None:
    desk.is_revoked = True
    with pytest.raises(Forbidden, match="revoked"):
        await start_node().ended()


async def test_tokens_are_renewed_without_losing_the_connection(desk: Desk, start_node: StartNode) -> None:
    desk.token_lives_s = 2
    start_node()
    await desk.calls("heartbeat")
    await desk.calls("/nodes/token", 2)
    await desk.assign(one := desk.chunk())
    await desk.has_results(one)
    assert desk.asked["getAssignedChunks"] <= 2, "it asks on every connect"


async def test_a_beacon_that_has_moved_is_followed(desk: Desk, start_node: StartNode) -> None:
    desk.token_lives_s = 2
    start_node()
    await desk.calls("getAssignedChunks")
    async with wire_to_web(desk.url) as (wire, url):
        desk.client_url = websocket_url(url)
        desk.token_lives_s = 900
        await desk.calls("getAssignedChunks")
        wire.cut()
        asked = desk.asked["heartbeat"]
        await asyncio.sleep(1.0)
        assert desk.asked["heartbeat"] == asked, "it is on the wire"


async def test_a_ledger_that_was_made_anew_is_registered_with(desk: Desk, start_node: StartNode) -> None:
    node = start_node()
    await desk.calls("heartbeat")
    desk.is_known = False
    await desk.cut(DisconnectCode.INVALID_TOKEN)
    await desk.calls("heartbeat")
    assert len(node.registered) == 2


async def test_a_sentinel_that_restarts_finds_the_node_where_it_was(
    start_node: StartNode,
) -> None:
    other = Desk()
    async with serve_desk(other):
        node = start_node(url=other.url)
        await other.calls("heartbeat")
        port = int(other.url.rpartition(":")[2])
        await other.assign(long := other.chunk("slow", iterations=200))
    await asyncio.sleep(3)  # it ends meanwhile
    assert node.kept == 1
    async with serve_desk(other, port=port):
        await other.has_results(long)
        await other.assign(short := other.chunk())
        await other.has_results(short)
    assert other.asked["/nodes/register"] == 1


async def test_a_paused_node_hands_back_what_waits_and_ends_what_runs(
    desk: Desk, start_node: StartNode
) -> None:
    start_node()
    await desk.calls("heartbeat")
    runs, waits = desk.chunk("slow", iterations=200), desk.chunk("slow", iterations=200)
    await desk.assign(runs, waits)
    await desk.until(lambda: desk.heartbeats[-1].chunks.get(runs.id, 0) > 0)
    await desk.configure(0)
    await desk.has_results(runs)
    assert desk.handed_back == [waits.id]
    await desk.configure(None)
    await desk.assign(after := desk.chunk())
    await desk.has_results(after)


async def test_a_limit_of_the_owner_holds_also_when_its_push_got_lost(
    desk: Desk, start_node: StartNode
) -> None:
    desk.max_parallel = 1
    start_node(node_parallel=3)
    await desk.calls("heartbeat", 2)
    await desk.assign(*(desk.chunk("slow", iterations=100_000) for _ in range(3)))
    await desk.until(lambda: any(desk.heartbeats[-1].chunks.values()))
    await desk.calls("heartbeat", 3)
    assert sum(share > 0 for share in desk.heartbeats[-1].chunks.values()) == 1
    desk.max_parallel = 2
    await desk.until(lambda: sum(share > 0 for share in desk.heartbeats[-1].chunks.values()) == 2)


async def test_told_to_stop_it_ends_what_runs_and_gives_back_the_rest(
    desk: Desk, start_node: StartNode
) -> None:
    node = start_node()
    await desk.calls("heartbeat")
    runs, waits = desk.chunk("slow", iterations=150), desk.chunk("slow", iterations=150)
    await desk.assign(runs, waits)
    await desk.until(lambda: desk.heartbeats[-1].chunks.get(runs.id, 0) > 0)
    desk.waiting = [desk.chunk()]
    await node.stop()
    assert {*desk.results} == {runs.id}
    assert desk.handed_back == [waits.id]
    assert desk.farewells == 1
    assert desk.heartbeats[-1].max_parallel == 0
    assert (node.kept, desk.held) == (0, {})


async def test_what_does_not_end_in_time_is_given_back_as_well(desk: Desk, start_node: StartNode) -> None:
    node = start_node(drain_s=0.5)
    await desk.calls("heartbeat")
    await desk.assign(runs := desk.chunk("slow", iterations=100_000))
    await desk.until(lambda: any(desk.heartbeats[-1].chunks.values()))
    await node.stop()
    assert desk.handed_back == [runs.id]
    assert desk.farewells == 1


async def test_how_long_a_chunk_takes_is_told_as_soon_as_it_is_known(
    desk: Desk, start_node: StartNode
) -> None:
    start_node(node_heartbeat_s=30.0)
    await desk.calls("heartbeat")
    await asyncio.sleep(1.1)
    await desk.assign(desk.chunk("slow", iterations=100))
    await desk.calls("heartbeat")
    assert desk.heartbeats[-1].chunk_s is not None
    assert 0.9 < desk.heartbeats[-1].chunk_s < 10


@pytest.mark.parametrize("ahead_s", [3 * 3600, -30 * 86400])
async def test_a_clock_that_is_far_off_is_no_reason_to_stay_outside(
    desk: Desk, start_node: StartNode, ahead_s: float
) -> None:
    node = start_node(ahead_s=ahead_s)
    await desk.calls("heartbeat")
    await desk.assign(one := desk.chunk())
    await desk.has_results(one)
    assert len(node.registered) == 1
