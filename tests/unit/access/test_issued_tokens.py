"""The local owner's token, and tokens signed with the secret by others."""

import base64
import hashlib
import hmac
import json
import time
from datetime import timedelta
from uuid import UUID, uuid4

import jwt
import pytest

from shoal.access.settings import AccessSettings
from shoal.access.tokens import Tokens, issue_token
from shoal.runtime.clock import SystemClock
from shoal.runtime.errors import Invalid, Unauthenticated

SECRET = "a secret that is long enough for HS256"
USER = uuid4()


@pytest.fixture
def tokens() -> Tokens:
    return Tokens(AccessSettings(jwt_secret=SECRET), SystemClock())


def sign(secret: str = SECRET, *, algorithm: str = "HS256", **claims: object) -> str:
    full: dict[str, object] = {
        "sub": str(USER),
        "role": "authenticated",
        "aud": "authenticated",
        "exp": time.time() + 60,
        **claims,
    }
    given = {name: value for name, value in full.items() if value is not None}
    return jwt.encode(given, secret, algorithm=algorithm)


def segment(value: object) -> str:
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


async def refusal(tokens: Tokens, token: str) -> str:
    with pytest.raises(Unauthenticated) as refused:
        await tokens.verify(token)
    return refused.value.code


async def test_an_issued_token_is_its_users(tokens: Tokens) -> None:
    token = issue_token(SECRET, USER, timedelta(hours=1))

    principal = await tokens.verify(token)

    assert (principal.kind, principal.id) == ("user", USER)


async def test_a_token_ends_when_it_says_with_half_a_minute_of_patience(tokens: Tokens) -> None:
    assert (await tokens.verify(sign(exp=time.time() - 20))).id == USER
    assert await refusal(tokens, sign(exp=time.time() - 40)) == "token_expired"
    assert await refusal(tokens, issue_token(SECRET, USER, timedelta(minutes=-1))) == "token_expired"


async def test_a_token_without_an_end_is_refused(tokens: Tokens) -> None:
    assert await refusal(tokens, sign(exp=None)) == "token_invalid"


async def test_a_token_of_the_future_is_refused(tokens: Tokens) -> None:
    assert (await tokens.verify(sign(nbf=time.time() + 20))).id == USER
    assert await refusal(tokens, sign(nbf=time.time() + 60)) == "token_invalid"


async def test_a_token_signed_with_another_secret_is_refused(tokens: Tokens) -> None:
    assert await refusal(tokens, sign("b" * 40)) == "token_invalid"


async def test_the_same_secret_under_another_algorithm_is_refused(tokens: Tokens) -> None:
    long = Tokens(AccessSettings(jwt_secret="c" * 64), SystemClock())

    assert await refusal(long, sign("c" * 64, algorithm="HS512")) == "token_invalid"


async def test_a_changed_payload_is_refused(tokens: Tokens) -> None:
    head, payload, signature = sign().split(".")
    claims = json.loads(base64.urlsafe_b64decode(payload + "=="))
    forged = segment({**claims, "sub": str(UUID(int=1))})

    assert await refusal(tokens, f"{head}.{forged}.{signature}") == "token_invalid"


@pytest.mark.parametrize("algorithm", ["none", "None", "", None, 7, ["HS256"], {"a": 1}, "HS256 "])
async def test_an_algorithm_that_is_none_or_nonsense_is_refused(tokens: Tokens, algorithm: object) -> None:
    _, payload, signature = sign().split(".")
    for end in ("", signature):
        token = f"{segment({'alg': algorithm, 'typ': 'JWT'})}.{payload}.{end}"
        assert await refusal(tokens, token) == "token_invalid"


@pytest.mark.parametrize(
    "token",
    [
        "a",
        "..",
        "a.b.c",
        "é.é.é",
        segment([1]) + ".e30.",
        segment(b"[" * 5000) + ".e30.",
        segment(b'{"a":' * 1500) + ".e30.",
        segment({"alg": "HS256", "crit": ["x"]}) + ".e30.AAAA",
        segment({"alg": "HS256", "kid": 7}) + ".e30.AAAA",
    ],
)
async def test_what_is_no_token_at_all_is_refused(tokens: Tokens, token: str) -> None:
    assert await refusal(tokens, token) == "token_invalid"


@pytest.mark.parametrize("end", [float("inf"), float("nan"), "soon", [], -1e400, True])
async def test_an_end_that_is_no_time_is_refused(tokens: Tokens, end: object) -> None:
    assert await refusal(tokens, sign(exp=end)) in {"token_invalid", "token_expired"}


async def test_without_a_secret_no_such_token_is_accepted() -> None:
    tokens = Tokens(AccessSettings(), SystemClock())

    assert await refusal(tokens, sign()) == "token_invalid"
    head, payload, _ = sign().split(".")
    unsigned = f"{head}.{payload}"
    empty = hmac.digest(b"", unsigned.encode(), hashlib.sha256)
    assert await refusal(tokens, f"{unsigned}.{segment(empty)}") == "token_invalid"


def test_a_short_secret_is_refused_at_once() -> None:
    with pytest.raises(Invalid) as refused:
        Tokens(AccessSettings(jwt_secret="short"), SystemClock())

    assert refused.value.code == "jwt_secret_too_short"
    assert "short'" not in str(refused.value)
