"""Tokens signed by a login server, whose public keys we fetch."""

import asyncio
import base64
import hashlib
import hmac
import json
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from shoal.access.settings import AccessSettings
from shoal.access.tokens import Tokens, issue_token
from shoal.runtime.errors import Unauthenticated, Unavailable

from .login_server import LoginServer

USER = uuid4()


class MovedClock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> MovedClock:
    return MovedClock()


@pytest.fixture
async def login() -> AsyncIterator[LoginServer]:
    server = LoginServer()
    server.add_key("one", "ES256")
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
def tokens(login: LoginServer, clock: MovedClock) -> Tokens:
    return Tokens(AccessSettings(jwks_url=login.url), clock)


async def refusal(tokens: Tokens, token: str) -> str:
    with pytest.raises(Unauthenticated) as refused:
        await tokens.verify(token)
    return refused.value.code


def signed_with_public_key(login: LoginServer, key_id: str) -> str:
    """The classic forgery: HS256 with the public key's text as the secret (PyJWT refuses to make it)."""

    def segment(value: bytes) -> bytes:
        return base64.urlsafe_b64encode(value).rstrip(b"=")

    claims = {
        "sub": str(USER),
        "role": "service_role",
        "aud": "authenticated",
        "exp": time.time() + 60,
    }
    head = segment(json.dumps({"alg": "HS256", "typ": "JWT", "kid": key_id}).encode())
    signed = head + b"." + segment(json.dumps(claims).encode())
    secret = login.public_pem(key_id)
    return (signed + b"." + segment(hmac.digest(secret, signed, hashlib.sha256))).decode()


@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "EdDSA"])
async def test_every_kind_of_key_is_understood_and_fetched_once(
    login: LoginServer, tokens: Tokens, algorithm: str
) -> None:
    login.add_key("two", algorithm)

    for _ in range(3):
        assert (await tokens.verify(login.sign("two", USER))).id == USER

    assert login.asked == 1


async def test_nothing_is_fetched_before_a_token_needs_it(login: LoginServer, tokens: Tokens) -> None:
    assert await refusal(tokens, "a.b.c") == "token_invalid"
    assert login.asked == 0


async def test_many_first_tokens_at_once_share_one_fetch(login: LoginServer, tokens: Tokens) -> None:
    token = login.sign("one", USER)

    await asyncio.gather(*(tokens.verify(token) for _ in range(20)))

    assert login.asked == 1


async def test_a_new_key_is_found_without_a_restart(
    login: LoginServer, tokens: Tokens, clock: MovedClock
) -> None:
    await tokens.verify(login.sign("one", USER))
    login.add_key("two", "EdDSA")
    token = login.sign("two", USER)

    assert await refusal(tokens, token) == "token_invalid"
    clock.seconds += 30

    assert (await tokens.verify(token)).id == USER
    assert login.asked == 2


async def test_forged_key_ids_make_us_ask_at_most_every_half_minute(
    login: LoginServer, tokens: Tokens, clock: MovedClock
) -> None:
    await tokens.verify(login.sign("one", USER))
    stranger = LoginServer()
    clock.seconds += 30

    for number in range(10):
        stranger.add_key(str(number), "ES256")
        assert await refusal(tokens, stranger.sign(str(number), USER)) == "token_invalid"

    assert login.asked == 2


async def test_a_withdrawn_key_is_forgotten(login: LoginServer, tokens: Tokens, clock: MovedClock) -> None:
    token = login.sign("one", USER, exp=int(time.time()) + 86_400)
    await tokens.verify(token)
    del login.keys["one"]

    clock.seconds += 600

    assert await refusal(tokens, token) == "token_invalid"


async def test_known_keys_go_on_while_the_login_server_is_away(
    login: LoginServer, tokens: Tokens, clock: MovedClock
) -> None:
    token = login.sign("one", USER)
    await tokens.verify(token)
    await login.stop()
    clock.seconds += 3600

    assert (await tokens.verify(token)).id == USER


async def test_a_login_server_that_never_answered_is_our_trouble_not_the_users(
    login: LoginServer, tokens: Tokens, clock: MovedClock
) -> None:
    token = login.sign("one", USER)
    await login.stop()

    with pytest.raises(Unavailable) as away:
        await tokens.verify(token)
    assert away.value.code == "jwks_unreachable"

    await login.start()
    clock.seconds += 30
    assert (await tokens.verify(token)).id == USER


@pytest.mark.parametrize("answer", [b"", b"[]", b"{", b'{"keys": 7}', b" " * 300_000])
async def test_an_answer_that_is_no_key_set_is_like_none(
    login: LoginServer, tokens: Tokens, answer: bytes
) -> None:
    login.answer = answer

    with pytest.raises(Unavailable):
        await tokens.verify(login.sign("one", USER))


async def test_a_public_key_is_never_used_as_a_secret(login: LoginServer, tokens: Tokens) -> None:
    both = Tokens(
        AccessSettings(jwks_url=login.url, jwt_secret="another secret, of 32 bytes or more"),
        MovedClock(),
    )
    login.add_key("rsa", "RS256")

    for verifier in (tokens, both):
        await verifier.verify(login.sign("rsa", USER))
        assert await refusal(verifier, signed_with_public_key(login, "rsa")) == "token_invalid"


async def test_a_secret_in_a_key_set_makes_no_tokens(login: LoginServer, tokens: Tokens) -> None:
    secret = b"published by mistake, 32 bytes or more"
    jwk = {"kty": "oct", "kid": "oct", "k": base64.urlsafe_b64encode(secret).decode()}
    login.answer = json.dumps({"keys": [jwk]}).encode()

    forged = issue_token(secret.decode(), USER, timedelta(hours=1))

    assert await refusal(tokens, forged) == "token_invalid"


async def test_a_key_serves_only_the_algorithm_of_its_type(login: LoginServer, tokens: Tokens) -> None:
    login.add_key("two", "RS256")
    signature = login.sign("two", USER).split(".")
    head = base64.urlsafe_b64encode(b'{"alg":"RS256","kid":"one"}').rstrip(b"=").decode()

    assert await refusal(tokens, ".".join([head, *signature[1:]])) == "token_invalid"


async def test_a_key_for_encryption_signs_nothing(login: LoginServer, tokens: Tokens) -> None:
    login.answer = json.dumps({"keys": [{**login.public_jwk("one"), "use": "enc"}]}).encode()

    assert await refusal(tokens, login.sign("one", USER)) == "token_invalid"


async def test_one_unusable_key_does_not_hide_the_others(login: LoginServer, tokens: Tokens) -> None:
    broken = [{"kty": "RSA", "kid": "x"}, {"kty": ["RSA"], "kid": "y"}, {"kid": 7}, {}]
    login.answer = json.dumps({"keys": [*broken, login.public_jwk("one")]}).encode()

    assert (await tokens.verify(login.sign("one", USER))).id == USER


@pytest.mark.parametrize("role", ["service_role", "anon", None])
async def test_a_login_server_vouches_for_users_only(
    login: LoginServer, tokens: Tokens, role: str | None
) -> None:
    assert await refusal(tokens, login.sign("one", USER, role=role)) == "token_invalid"


async def test_a_token_for_another_audience_or_expired_is_refused(login: LoginServer, tokens: Tokens) -> None:
    assert await refusal(tokens, login.sign("one", USER, aud="other")) == "token_invalid"
    late = login.sign("one", USER, exp=int(time.time()) - 60)
    assert await refusal(tokens, late) == "token_expired"


async def test_secret_and_key_set_work_side_by_side(login: LoginServer) -> None:
    secret = "a secret that is long enough for HS256"
    tokens = Tokens(AccessSettings(jwks_url=login.url, jwt_secret=secret), MovedClock())

    assert (await tokens.verify(login.sign("one", USER))).id == USER
    assert (await tokens.verify(issue_token(secret, USER, timedelta(hours=1)))).id == USER
