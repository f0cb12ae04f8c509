"""Whatever clients say, and however it is decided: a session never fails, and channels agree with it."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.beacon.hub.commands import REQUESTS, Subscribe
from shoal.beacon.hub.limits import Limits
from shoal.beacon.hub.replies import encode
from shoal.beacon.hub.verdicts import Admitted, Allowed, Answered, Ask, Renewed, Verdict
from shoal.beacon.model import Cut, ErrorCode, Identity, Refused

from .talk import Talk, new_channels

CHANNELS = ("jobs:1", "rooms:1", "plain:1", "what:1", "", "ü")
VALUES: st.SearchStrategy[object] = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from(CHANNELS), st.just({})
)
FIELDS = ("channel", "token", "method", "offset", "epoch", "recover", "limit", "reverse", "since", "subs")
REASONABLE = {"channel": st.sampled_from(CHANNELS[:3]), "token": st.just("t")}

requests = st.one_of(
    st.fixed_dictionaries(REASONABLE),
    st.fixed_dictionaries({**REASONABLE, "recover": st.just(True), "offset": st.integers(0, 5)}),
    st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=3),
)
commands = st.builds(
    lambda number, method, request: {"id": number, method: request},
    st.integers(0, 5),
    st.sampled_from([*REQUESTS, "unheard_of"]),
    requests,
)
frames = st.lists(commands, min_size=1, max_size=3).map(
    lambda found: "\n".join(json.dumps(command) for command in found).encode()
) | st.binary(max_size=8)
refusals = st.sampled_from([Refused(ErrorCode.PERMISSION_DENIED, "no"), Cut(4501, "not welcome")])
events = st.lists(
    st.one_of(
        st.tuples(st.just("say"), frames),
        st.tuples(st.just("decide"), st.integers(0, 3)),
        st.tuples(st.just("refuse"), refusals),
        st.tuples(st.just("publish"), st.sampled_from(CHANNELS[:3])),
        st.tuples(st.just("pass"), st.floats(0, 30)),
    ),
    max_size=40,
)


def verdict_for(ask: Ask) -> Verdict:
    identity = Identity("u1", channels=("rooms:1",))
    match type(ask.request).__name__:
        case "Connect":
            return Admitted(identity, ttl=40)
        case "Refresh":
            return Renewed(identity, ttl=40)
        case "Rpc":
            return Answered(None)
        case "Subscribe":
            return Allowed(ttl=10)
    return Allowed()


@settings(max_examples=200, deadline=None)
@given(events)
def test_a_session_stands_any_client(events: list[tuple[str, Any]]) -> None:
    channels = new_channels()
    talk = Talk(channels, limits=Limits(commands_under_way=3, channels=2))
    undecided: list[Ask] = []
    heard: list[dict[str, Any]] = []
    talk.say({"id": 9, "connect": {"token": "t"}})
    for kind, value in events:
        undecided += talk.asked()
        match kind:
            case "say":
                heard += talk.say_raw(value)
            case "decide" if undecided:
                ask = undecided.pop(value % len(undecided))
                heard += talk.answer(ask, verdict_for(ask))
            case "refuse" if undecided:
                heard += talk.answer(undecided.pop(0), value)
            case "publish":
                channels.find(value).publish(encode({"n": 1}), talk.now)
                heard += talk.heard()
            case "pass":
                heard += talk.pass_s(value)
        listened = {name for name in CHANNELS[:3] if talk.session in channels.find(name).listeners}
        assert len(listened) <= 2
        assert talk.end is None or not listened
        assert len(undecided) + len(talk.session.asks) <= 3 + sum(
            isinstance(ask.request, Subscribe) and ask.is_renewal for ask in undecided
        )
    pushed = [message["push"]["channel"] for message in heard if "push" in message]
    assert set(pushed) <= set(CHANNELS[:3])
