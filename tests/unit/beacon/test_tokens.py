"""Connection tokens: what stands in them, and which are taken."""

import hashlib
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt
import pytest

from shoal.beacon.model import Cut, DisconnectCode, ErrorCode, Refused
from shoal.beacon.tokens import ConnectionTokens
from shoal.runtime.errors import Invalid

SECRET = "a secret that is long enough for HS256"
NODE = "0190a1b2-0000-7000-8000-000000000001"
KEY = bytes(range(32))


class Hands:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.time = datetime(2030, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self.time

    def monotonic(self) -> float:
        return self.time.timestamp()


@pytest.fixture
def clock() -> Hands:
    return Hands()


@pytest.fixture
def tokens(clock: Hands) -> ConnectionTokens:
    return ConnectionTokens(SECRET, clock)


def claims_of(text: str) -> dict[str, Any]:
    read: dict[str, Any] = jwt.decode(text, options={"verify_signature": False})
    return read


def sign(clock: Hands, secret: str = SECRET, algorithm: str = "HS256", **claims: object) -> str:
    exp = int(clock.now().timestamp()) + 60
    return jwt.encode({"sub": NODE, "exp": exp, **claims}, secret, algorithm=algorithm)


def test_a_nodes_token_lasts_a_quarter_of_an_hour_and_brings_it_to_its_own_channel(
    tokens: ConnectionTokens, clock: Hands
) -> None:
    issued = tokens.issue_node(NODE, KEY)

    claims = claims_of(issued.text)
    key_hash = hashlib.sha256(KEY).hexdigest()
    assert claims.pop("jti")
    assert claims == {
        "sub": NODE,
        "iat": int(clock.now().timestamp()),
        "exp": int(clock.now().timestamp()) + 900,
        "channels": [f"nodes:{NODE}"],
        "info": {"type": "node", "pubkey_hash": key_hash},
        "meta": {"kind": "node", "pubkey_hash": key_hash},
    }
    assert issued.expires_at == clock.now() + timedelta(minutes=15)


def test_a_portals_token_lasts_an_hour_and_subscribes_to_nothing(
    tokens: ConnectionTokens, clock: Hands
) -> None:
    claims = claims_of(tokens.issue_portal("ann").text)

    assert claims["exp"] - claims["iat"] == 3600
    assert (claims["sub"], claims["info"], claims["meta"]) == (
        "ann",
        {"type": "portal"},
        {"kind": "portal"},
    )
    assert "channels" not in claims


def test_no_token_begins_in_the_future_for_a_beacon_whose_clock_is_late(tokens: ConnectionTokens) -> None:
    for issued in (tokens.issue_portal("ann"), tokens.issue_node(NODE, KEY)):
        assert "nbf" not in claims_of(issued.text)


def test_two_tokens_are_never_the_same(tokens: ConnectionTokens) -> None:
    assert tokens.issue_portal("ann").text != tokens.issue_portal("ann").text


def test_what_was_issued_says_who_its_bearer_is(tokens: ConnectionTokens, clock: Hands) -> None:
    identity = tokens.verify(tokens.issue_node(NODE, KEY).text)

    assert (identity.user, identity.meta["kind"], identity.channels) == (NODE, "node", (f"nodes:{NODE}",))
    assert identity.expires_at == int(clock.now().timestamp()) + 900


def test_a_token_is_good_until_its_last_second_and_then_a_new_one_is_asked_for(
    tokens: ConnectionTokens, clock: Hands
) -> None:
    issued = tokens.issue_portal("ann")
    clock.time += timedelta(seconds=3599)
    assert tokens.verify(issued.text).user == "ann"

    clock.time += timedelta(seconds=1)
    with pytest.raises(Refused) as refused:
        tokens.verify(issued.text)
    assert refused.value.code == ErrorCode.TOKEN_EXPIRED


def test_a_token_from_the_future_is_one_to_ask_anew_for(tokens: ConnectionTokens, clock: Hands) -> None:
    with pytest.raises(Refused) as refused:
        tokens.verify(sign(clock, nbf=int(clock.now().timestamp()) + 5))
    assert refused.value.code == ErrorCode.TOKEN_EXPIRED


def test_a_token_that_does_not_hold_ends_the_connection(tokens: ConnectionTokens, clock: Hands) -> None:
    good = tokens.issue_portal("ann").text
    head, body, signature = good.split(".")
    for bad in (
        "",
        "nonsense",
        f"{head}.{body}.",
        f"{head}.{body}.{signature[::-1]}",
        sign(clock, secret="another secret that is long enough, too"),
        sign(clock, algorithm="HS512", secret=SECRET * 2),
        jwt.encode({"sub": "ann"}, "", algorithm="none"),
        sign(clock, sub=["ann"]),
        sign(clock, meta="node"),
        sign(clock, channels="nodes:x"),
        sign(clock, exp="soon"),
    ):
        with pytest.raises(Cut) as cut:
            tokens.verify(bad)
        assert cut.value.code == DisconnectCode.INVALID_TOKEN, bad


def test_a_secret_that_could_be_guessed_is_refused(clock: Hands) -> None:
    with pytest.raises(Invalid) as refused:
        ConnectionTokens("short", clock)
    assert refused.value.code == "beacon_secret_too_short"


def test_a_token_does_not_reach_a_log_by_accident(tokens: ConnectionTokens) -> None:
    issued = tokens.issue_portal("ann")
    assert issued.text not in repr(issued)
