"""Clients that no library would be: silent, greedy, rude, and many."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from websockets.exceptions import InvalidStatus

from shoal.beacon.model import DisconnectCode

from .raw import NO_CLOSE, RawClient
from .stage import LIMITS, ORIGIN, Stage

TOO_BIG = (1009, NO_CLOSE)
"""What was sent and not read resets the connection, which may overtake the reason for its end."""

Dial = Callable[[], Awaitable[RawClient]]


async def test_a_frame_may_hold_connect_and_everything_after_it(stage: Stage, dial: Dial) -> None:
    client, channel = await dial(), stage.name("plain:")

    await client.say(
        {"id": 1, "connect": {"token": stage.token(stage.name("user"))}},
        {"id": 2, "subscribe": {"channel": channel}},
    )

    first, second = await client.hear(), await client.hear()
    assert first["connect"]["ping"] == LIMITS.ping_interval_s
    assert first["connect"]["pong"] is True
    assert first["connect"]["expires"] is True
    assert (second["id"], "subscribe" in second) == (2, True)


async def test_an_expired_token_is_answered_and_the_connection_left_open(stage: Stage, dial: Dial) -> None:
    client = await dial()

    await client.say(
        {"id": 1, "connect": {"token": stage.token(stage.name("user"), seconds=-1)}},
        {"id": 2, "subscribe": {"channel": "plain:1"}},
    )

    assert (await client.hear())["error"]["code"] == 109


@pytest.mark.parametrize(
    "frame",
    [
        "",
        "no json",
        '{"id":7,"unheard_of":{}}',
        '{"id":7,"ping":{}}',
        '{"id":7,"connect":{"token":"again"}}',
        "{}",
        '{"rpc":{"method":"echo"}}',
        '{"id":7,"subscribe":{}}',
        '{"id":"7","rpc":{"method":"echo"}}',
        '{"id":7,"rpc":{"method":"echo"}}\nno json',
        '{"id":7,"refresh":{}}',
    ],
)
async def test_garbage_is_a_bad_request(stage: Stage, dial: Dial, frame: str) -> None:
    client = await dial()
    await client.connect(stage.token(stage.name("user")))

    await client.send(frame)

    assert await client.ended() == DisconnectCode.BAD_REQUEST


@pytest.mark.parametrize(
    "frame", ['{"id":1,"rpc":{"method":"echo"}}', '{"id":1,"connect":{}}', "{}", "GET / HTTP/1.1"]
)
async def test_nothing_is_said_before_connect(stage: Stage, dial: Dial, frame: str) -> None:
    client = await dial()

    await client.send(frame)

    assert await client.ended() == DisconnectCode.BAD_REQUEST


async def test_who_says_nothing_is_stale(stage: Stage, dial: Dial) -> None:
    client = await dial()

    assert await client.ended() == DisconnectCode.STALE


async def test_who_answers_no_ping_is_gone(stage: Stage, dial: Dial) -> None:
    client = await dial()
    await client.connect(stage.token(stage.name("user")))

    assert await client.ended(answers_pings=False) == DisconnectCode.NO_PONG


async def test_a_message_over_the_limit_ends_the_connection(stage: Stage, dial: Dial) -> None:
    client = await dial()
    await client.connect(stage.token(stage.name("user")))
    frame = '{"id":2,"rpc":{"method":"echo","data":"%s"}}'
    fits = LIMITS.message_bytes - len(frame) + 2

    await client.send(frame % ("x" * fits))
    assert (await client.hear())["id"] == 2
    await client.send(frame % ("x" * (fits + 1)))

    assert await client.ended() in TOO_BIG


async def test_a_message_in_many_fragments_is_counted_whole(stage: Stage, dial: Dial) -> None:
    client = await dial()
    await client.connect(stage.token(stage.name("user")))

    await client.send_fragments(['{"id":2,"rpc":', '{"method":"echo",', '"data":1}}'])
    assert (await client.hear())["rpc"]["data"]["data"] == 1
    await client.send_fragments(["x" * 40_000] * 2)

    assert await client.ended() in TOO_BIG


async def test_subscriptions_have_a_limit_each_counts_once(stage: Stage, dial: Dial) -> None:
    client = await dial()
    await client.connect(stage.token(stage.name("user")))
    channels = [stage.name("plain:") for _ in range(LIMITS.channels + 1)]

    codes = []
    for number, channel in enumerate([*channels, channels[0], "plain:" + "x" * 250], start=2):
        await client.say({"id": number, "subscribe": {"channel": channel}})
        codes.append((await client.hear()).get("error", {}).get("code"))

    assert codes == [None] * LIMITS.channels + [106, 105, 107]


async def test_a_message_without_a_reply_is_not_available(stage: Stage, dial: Dial) -> None:
    client = await dial()
    await client.connect(stage.token(stage.name("user")))

    await client.say({"send": {"data": {}}})

    assert await client.ended() == DisconnectCode.NOT_AVAILABLE


async def test_an_error_says_whether_it_passes_by_itself(stage: Stage, dial: Dial) -> None:
    client = await dial()
    await client.connect(stage.token(stage.name("user")))

    errors = []
    asked = [("fail", {}), ("refuse", {"code": 1404}), ("refuse", {"code": 1404, "temporary": True})]
    for number, (method, data) in enumerate(asked, start=2):
        await client.say({"id": number, "rpc": {"method": method, "data": data}})
        errors.append((await client.hear())["error"])

    assert [(error["code"], error.get("temporary", False)) for error in errors] == [
        (100, True),
        (1404, False),
        (1404, True),
    ]


async def test_a_token_that_is_not_renewed_ends_the_connection(stage: Stage, dial: Dial) -> None:
    client = await dial()
    result = await client.connect(stage.token(stage.name("user"), seconds=1.9))

    assert result["ttl"] in (1, 2)
    assert await client.ended() == DisconnectCode.EXPIRED


@pytest.mark.parametrize(
    ("seconds", "whose", "code"),
    [
        (-5, "own", DisconnectCode.EXPIRED),
        (600, "another", DisconnectCode.INVALID_TOKEN),
        (600, "forged", DisconnectCode.INVALID_TOKEN),
    ],
)
async def test_a_token_that_renews_nothing_ends_the_connection(
    stage: Stage, dial: Dial, seconds: float, whose: str, code: int
) -> None:
    client, user = await dial(), stage.name("user")
    await client.connect(stage.token(user))
    renewed = stage.token(user if whose == "own" else stage.name("user"), seconds=seconds)

    await client.say({"id": 2, "refresh": {"token": renewed + "x" * (whose == "forged")}})

    assert await client.ended() == code


async def test_who_does_not_read_is_cut_and_nobody_else_waits(stage: Stage, dial: Dial) -> None:
    channel = stage.name("plain:")
    reader, sleeper = await dial(), await dial()
    for client in (reader, sleeper):
        await client.connect(stage.token(stage.name("user")))
        await client.say({"id": 2, "subscribe": {"channel": channel}})
        assert (await client.hear())["id"] == 2
    sleeper.stop_reading()

    block, count = "x" * 50_000, 200

    async def publish() -> None:
        for _ in range(count):
            await stage.publish(channel, block)

    publishing = asyncio.create_task(publish())
    for _ in range(count):
        assert "push" in await reader.hear()
    await publishing
    await reader.say({"id": 3, "rpc": {"method": "echo"}})
    assert (await reader.hear())["id"] == 3

    assert await sleeper.is_cut(), "ten megabytes wait for a client that does not read"


async def test_five_hundred_idle_clients_are_kept_and_reached(stage: Stage, dial: Dial) -> None:
    channel, count = stage.name("plain:"), 500
    token = stage.token(stage.name("user"))

    async def arrive() -> RawClient:
        client = await dial()
        await client.say({"id": 1, "connect": {"token": token}}, {"id": 2, "subscribe": {"channel": channel}})
        assert "connect" in await client.hear()
        assert "subscribe" in await client.hear()
        return client

    clients: list[RawClient] = []
    for _ in range(count // 50):
        clients += await asyncio.gather(*(arrive() for _ in range(50)))

    waiting = [asyncio.create_task(client.hear()) for client in clients]
    await asyncio.sleep(2.5)  # each has been pinged
    await stage.publish(channel, "news")
    assert all("push" in message for message in await asyncio.gather(*waiting))


async def test_a_page_from_elsewhere_may_not_connect(stage: Stage) -> None:
    client = await RawClient.open(stage.client_url, origin=ORIGIN)
    await client.connect(stage.token(stage.name("user")))
    await client.close()

    with pytest.raises(InvalidStatus) as refused:
        await RawClient.open(stage.client_url, origin="https://elsewhere.example.org")

    assert refused.value.response.status_code == 403
