"""What a client may say when, and what it is told: the codes are those of Centrifugo."""

from typing import Any

import pytest

from shoal.beacon.hub.limits import Limits
from shoal.beacon.hub.replies import encode
from shoal.beacon.hub.verdicts import Admitted, Allowed, Answered, Renewed
from shoal.beacon.model import Cut, DisconnectCode, ErrorCode, Identity, Refused

from .talk import Talk, new_channels

DENIED = Refused(ErrorCode.PERMISSION_DENIED, "permission denied")


def test_a_client_learns_its_id_and_how_often_it_will_be_pinged() -> None:
    result = Talk(client="c9").connect()

    assert result["client"] == "c9"
    assert (result["ping"], result["pong"]) == (25, True)
    assert "expires" not in result


def test_a_token_that_ends_is_announced_with_its_time() -> None:
    assert Talk().connect(ttl=60)["ttl"] == 60


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"\n",
        b"no json",
        b'{"id":1',
        b"[]",
        b'"text"',
        b"\xff\xfe",
        b'{"id":-1,"rpc":{}}',
        b'{"id":4294967296,"rpc":{}}',
        b'{"id":1,"rpc":{"method":5}}',
        b'{"id":1,"unheard_of":{}}',
        b'{"id":1,"ping":{}}',
        b'{"rpc":{"method":"x"}}',
        b"{}",
        b'{"id":1,"connect":{"token":"again"}}',
        b'{"id":1,"subscribe":{"channel":""}}',
        b'{"id":1,"refresh":{}}',
        b'{"id":1,"rpc":' + b"[" * 100_000,
    ],
)
def test_garbage_ends_the_connection_as_a_bad_request(frame: bytes) -> None:
    talk = Talk()
    talk.connect()

    talk.say_raw(frame)

    assert talk.end == DisconnectCode.BAD_REQUEST


def test_nothing_may_be_said_before_connect() -> None:
    talk = Talk()

    talk.say({"id": 1, "rpc": {"method": "x"}})

    assert talk.end == DisconnectCode.BAD_REQUEST
    assert talk.asked() == []


def test_connecting_without_a_token_is_a_bad_request() -> None:
    talk = Talk()

    talk.say({"id": 1, "connect": {}})

    assert talk.end == DisconnectCode.BAD_REQUEST


def test_after_an_error_to_connect_the_rest_of_the_frame_is_dropped_and_the_connection_kept() -> None:
    talk = Talk()
    talk.say({"id": 1, "connect": {"token": "old"}}, {"id": 2, "subscribe": {"channel": "jobs:1"}})
    [ask] = talk.asked()

    replies = talk.answer(ask, Refused(ErrorCode.TOKEN_EXPIRED, "token expired"))

    assert replies == [{"id": 1, "error": {"code": 109, "message": "token expired"}}]
    assert talk.asked() == []
    assert talk.end is None
    talk.say({"id": 3, "rpc": {"method": "x"}})
    assert talk.end == DisconnectCode.BAD_REQUEST


def test_a_frame_with_connect_and_more_is_taken_in_order() -> None:
    talk = Talk()
    talk.say(
        {"id": 1, "connect": {"token": "t"}},
        {"id": 2, "subscribe": {"channel": "jobs:1"}},
        {"id": 3, "rpc": {"method": "x"}},
    )
    [connect] = talk.asked()

    talk.answer(connect, Admitted(Identity("u1")))
    subscribe, rpc = talk.asked()

    assert talk.answer(rpc, Answered({"n": 1})) == [{"id": 3, "rpc": {"data": {"n": 1}}}]
    assert talk.answer(subscribe, Allowed())[0]["id"] == 2


def test_who_does_not_connect_in_time_is_stale() -> None:
    talk = Talk()

    talk.pass_s(9.9)
    assert talk.end is None
    talk.pass_s(0.2)

    assert talk.end == DisconnectCode.STALE


def test_a_client_that_answers_pings_stays_and_one_that_does_not_is_ended() -> None:
    talk = Talk(limits=Limits(ping_interval_s=10, pong_timeout_s=4))
    talk.connect()
    for _ in range(5):
        assert talk.pass_s(10).count({}) == 1
        talk.say({})
        assert talk.end is None

    talk.pass_s(10 + 4)

    assert talk.end == DisconnectCode.NO_PONG


def test_a_connection_that_is_not_renewed_ends_a_while_after_its_token() -> None:
    talk = Talk(limits=Limits(ping_interval_s=1000, expired_grace_s=25))
    talk.connect(ttl=60)

    talk.pass_s(84)
    assert talk.end is None
    talk.pass_s(2)

    assert talk.end == DisconnectCode.EXPIRED


def test_a_renewed_token_prolongs_the_connection() -> None:
    talk = Talk(limits=Limits(ping_interval_s=1000))
    talk.connect(ttl=60)
    talk.pass_s(60)

    reply = talk.ask("refresh", Renewed(Identity("u1"), ttl=60), token="new")

    assert reply["refresh"] == {"expires": True, "ttl": 60}
    talk.pass_s(60)
    assert talk.end is None


def test_a_token_of_somebody_else_renews_nothing() -> None:
    talk = Talk()
    talk.connect(user="u1", ttl=60)

    talk.say({"id": 2, "refresh": {"token": "stolen"}})
    [ask] = talk.asked()
    talk.answer(ask, Renewed(Identity("u2"), ttl=60))

    assert talk.end == DisconnectCode.INVALID_TOKEN


def test_an_error_of_the_gate_is_the_reply_and_a_cut_is_the_end() -> None:
    talk = Talk()
    talk.connect()

    busy = Refused(ErrorCode.TOO_MANY_REQUESTS, "too many requests", temporary=True)
    assert talk.ask("rpc", busy, method="x")["error"] == {
        "code": 111,
        "message": "too many requests",
        "temporary": True,
    }
    talk.say({"id": 2, "rpc": {"method": "x"}})
    [ask] = talk.asked()
    talk.answer(ask, Cut(DisconnectCode.AUTHENTICATION_FAILED, "not welcome"))

    assert talk.end == DisconnectCode.AUTHENTICATION_FAILED


@pytest.mark.parametrize(
    ("method", "verdict", "result"),
    [
        ("publish", Allowed(), {}),
        ("rpc", Answered(None), {}),
        ("presence_stats", Allowed(), {"num_clients": 0, "num_users": 0}),
        ("presence", Allowed(), {"presence": {}}),
    ],
)
def test_a_reply_always_holds_its_method(method: str, verdict: Any, result: dict[str, Any]) -> None:
    talk = Talk()
    talk.connect()
    request = {} if method == "rpc" else {"channel": "rooms:1"}

    assert talk.ask(method, verdict, **request)[method] == result


def test_more_commands_than_may_be_under_way_wait_their_turn() -> None:
    talk = Talk(limits=Limits(commands_under_way=2))
    talk.connect()
    talk.say(*({"id": number, "rpc": {"method": "x"}} for number in range(2, 7)))
    first, second = talk.asked()

    assert talk.session.is_busy
    talk.answer(second, Answered(None))

    [third] = talk.asked()
    assert (first.number, second.number, third.number) == (2, 3, 4)


def test_a_client_whose_answer_cannot_be_read_yet_is_not_taken_for_gone() -> None:
    talk = Talk(limits=Limits(commands_under_way=1, ping_interval_s=10, pong_timeout_s=4))
    talk.connect()
    talk.say(*({"id": number, "rpc": {"method": "slow"}} for number in (2, 3)))
    [slow] = talk.asked()

    talk.pass_s(20)
    assert talk.end is None
    talk.answer(slow, Answered(None))
    talk.pass_s(5)

    assert talk.end == DisconnectCode.NO_PONG


def test_a_client_cannot_subscribe_twice_nor_without_end() -> None:
    talk = Talk(limits=Limits(channels=2))
    talk.connect(channels=("plain:own",))

    assert talk.say({"id": 2, "subscribe": {"channel": "plain:own"}})[0]["error"]["code"] == 105
    talk.say({"id": 3, "subscribe": {"channel": "plain:2"}})
    assert talk.say({"id": 4, "subscribe": {"channel": "plain:2"}})[0]["error"]["code"] == 105
    assert talk.say({"id": 5, "subscribe": {"channel": "plain:3"}})[0]["error"]["code"] == 106


@pytest.mark.parametrize("channel", ["plain:" + "x" * 250, "plain:ü"])
def test_names_of_channels_have_a_form(channel: str) -> None:
    talk = Talk()
    talk.connect()

    assert talk.say({"id": 2, "subscribe": {"channel": channel}})[0]["error"]["code"] == 107


def test_a_refused_subscription_can_be_tried_again() -> None:
    talk = Talk()
    talk.connect()

    assert talk.ask("subscribe", DENIED, channel="plain:1")["error"]["code"] == 103
    talk.subscribe("plain:1")

    assert len(talk.channels.find("plain:1").listeners) == 1


def test_a_token_for_a_channel_opens_nothing() -> None:
    talk = Talk()
    talk.connect()

    assert talk.say({"id": 2, "subscribe": {"channel": "plain:1", "token": "x"}})[0]["error"]["code"] == 103


def test_who_unsubscribes_while_it_is_decided_is_out_in_the_end() -> None:
    talk = Talk()
    talk.connect()
    talk.say({"id": 2, "subscribe": {"channel": "plain:1"}})
    [ask] = talk.asked()

    assert talk.say({"id": 3, "unsubscribe": {"channel": "plain:1"}}) == []
    replies = talk.answer(ask, Allowed())

    assert replies == [{"id": 2, "subscribe": {}}, {"id": 3, "unsubscribe": {}}]
    assert not talk.channels.find("plain:1").listeners


def test_the_reply_comes_before_what_is_published() -> None:
    talk = Talk()
    talk.connect()
    talk.say({"id": 2, "subscribe": {"channel": "jobs:1"}})
    [ask] = talk.asked()
    talk.session.answer(ask, Allowed(data={"seen": 1}), talk.now)
    talk.channels.find("jobs:1").publish(encode({"n": 1}), talk.now)

    reply, push = talk.heard()

    assert reply["subscribe"]["data"] == {"seen": 1}
    assert push == {"push": {"channel": "jobs:1", "pub": {"data": {"n": 1}, "offset": 1}}}


def test_the_server_subscribes_whom_the_token_names_and_recovers_them() -> None:
    channels = new_channels()
    channel = channels.find("jobs:1")
    for number in (1, 2, 3):
        channel.publish(encode(number), 1000.0)

    result = Talk(channels).connect(
        channels=("jobs:1",), subs={"jobs:1": {"recover": True, "epoch": "e0", "offset": 1}}
    )

    found = result["subs"]["jobs:1"]
    assert found["recovered"] is True
    assert [publication["data"] for publication in found["publications"]] == [2, 3]


def test_a_token_that_names_an_unknown_channel_lets_nobody_in() -> None:
    talk = Talk()
    talk.say({"id": 1, "connect": {"token": "t"}})
    [ask] = talk.asked()

    [reply] = talk.answer(ask, Admitted(Identity("u1", channels=("what:1",))))

    assert reply["error"]["code"] == 102


def test_others_hear_who_comes_and_who_goes() -> None:
    channels = new_channels()
    first, second = Talk(channels, client="c1"), Talk(channels, client="c2")
    first.connect(user="u1")
    first.subscribe("rooms:1")
    second.connect(user="u2")
    second.subscribe("rooms:1")

    info = {"user": "u2", "client": "c2", "conn_info": {"name": "u2"}}
    assert first.heard() == [{"push": {"channel": "rooms:1", "join": {"info": info}}}]
    presence = first.ask("presence", Allowed(), channel="rooms:1")["presence"]["presence"]
    assert presence["c2"] == info
    second.session.end(DisconnectCode.CLOSED, "connection closed")

    assert first.heard() == [{"push": {"channel": "rooms:1", "leave": {"info": info}}}]


def test_a_channel_without_presence_or_history_says_so() -> None:
    talk = Talk()
    talk.connect()

    for method in ("presence", "presence_stats", "history"):
        [reply] = talk.say({"id": 2, method: {"channel": "plain:1"}})
        assert reply["error"]["code"] == 108
    assert talk.asked() == []


def test_a_subscription_that_ends_is_asked_about_again() -> None:
    talk = Talk(limits=Limits(ping_interval_s=1000))
    talk.connect()
    talk.ask("subscribe", Allowed(ttl=30), channel="plain:1")

    talk.pass_s(31)
    [again] = talk.asked()
    talk.answer(again, Allowed(ttl=30))
    talk.pass_s(31)
    [again] = talk.asked()

    assert talk.answer(again, DENIED) == [
        {
            "push": {
                "channel": "plain:1",
                "unsubscribe": {"code": 2501, "reason": "subscription expired"},
            }
        }
    ]
    assert not talk.channels.find("plain:1").listeners


def test_renewing_a_subscription_is_not_the_business_of_a_client() -> None:
    talk = Talk()
    talk.connect()
    talk.subscribe("plain:1")

    assert talk.say({"id": 2, "sub_refresh": {"channel": "plain:2"}})[0]["error"]["code"] == 103
    talk.say({"id": 3, "sub_refresh": {"channel": "plain:1", "token": "x"}})

    assert talk.end == DisconnectCode.BAD_REQUEST


def test_messages_without_a_reply_have_no_taker() -> None:
    talk = Talk()
    talk.connect()

    talk.say({"send": {"data": {}}})

    assert talk.end == DisconnectCode.NOT_AVAILABLE


def test_what_is_decided_after_the_end_is_not_said() -> None:
    talk = Talk()
    talk.connect()
    talk.say({"id": 2, "subscribe": {"channel": "plain:1"}})
    [ask] = talk.asked()
    talk.session.end(DisconnectCode.CLOSED, "connection closed")

    assert talk.answer(ask, Allowed()) == []
    assert not talk.channels.find("plain:1").listeners
