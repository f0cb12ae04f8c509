"""What is signed is unambiguous, and nobody but the owner of a key signs for it. Trap 1.24."""

import base64
import string
from contextlib import suppress
from dataclasses import astuple, fields, replace
from uuid import uuid4

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from shoal.runtime.errors import Unauthenticated
from shoal.runtime.signatures import (
    FIELD,
    SMALL_ORDER,
    SignedRequest,
    Version,
    hash_body,
    holds,
    is_strict_key,
    read_bytes,
    read_signature,
    string_to_sign,
)

ORDER = 2**252 + 27742317777372353535851937790883648493
REQUEST = SignedRequest(
    method="POST",
    host="shoal.example",
    path="/nodes/token",
    query="",
    timestamp="1790000000000",
    nonce="1b4e28ba-2fa1-41d2-883f-0016d3cca427",
    body_hash=hash_body(b"{}"),
)
NAMES = [field.name for field in fields(SignedRequest)]

anything = st.text(st.sampled_from("aA1/|\n\r\0?&=. -é%" + string.printable), max_size=12)
requests = st.builds(
    SignedRequest,
    method=st.sampled_from(["GET", "POST", "PUT"]) | anything,
    host=st.sampled_from(["a.example", "a.example:8700", "[::1]:8700"]) | anything,
    path=anything.map(lambda rest: f"/{rest}"),
    query=st.just("") | anything,
    timestamp=st.integers(1, 10**15 - 1).map(str) | anything,
    nonce=st.uuids().map(str) | anything,
    body_hash=st.binary(max_size=2).map(hash_body) | anything,
)


@given(requests, st.sampled_from(NAMES), anything)
def test_whatever_is_signed_can_be_read_back_so_no_two_requests_share_a_string(
    request: SignedRequest, name: str, text: str
) -> None:
    """What could be moved from one field to the next would not come back as it was."""
    for one in (request, replace(REQUEST, **{name: f"{getattr(REQUEST, name)}{text}"})):
        with suppress(Unauthenticated):
            assert string_to_sign(one, 2).decode().split("\n") == ["shoal-2", *astuple(one)]
        with suppress(Unauthenticated):
            covered = [one.method, one.path, one.timestamp, one.nonce, one.body_hash]
            assert string_to_sign(one, 1).decode().split("|") == covered
            assert one.query == ""


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("name", NAMES)
def test_no_field_holds_what_separates_it_from_the_next(name: str, version: Version) -> None:
    for separator in "|\n":
        moved = replace(REQUEST, **{name: f"{getattr(REQUEST, name)}{separator}x"})
        if (name, separator, version) != ("query", "|", 2):
            with pytest.raises(Unauthenticated):
                string_to_sign(moved, version)


@given(requests, requests)
def test_a_string_of_one_version_is_none_of_the_other(one: SignedRequest, other: SignedRequest) -> None:
    with suppress(Unauthenticated):
        assert string_to_sign(one, 1) != string_to_sign(other, 2)


def test_version_1_is_the_line_of_the_seed() -> None:
    line = f"POST|/nodes/token|1790000000000|1b4e28ba-2fa1-41d2-883f-0016d3cca427|{hash_body(b'{}')}"
    assert string_to_sign(REQUEST, 1) == line.encode()


def test_version_1_signs_no_query_because_it_would_not_cover_it() -> None:
    asked = replace(REQUEST, query="all=1")
    assert b"all=1" in string_to_sign(asked, 2)
    with pytest.raises(Unauthenticated, match="does not cover the query"):
        string_to_sign(asked, 1)


@pytest.mark.parametrize("name", NAMES)
def test_version_2_covers_every_field(name: str) -> None:
    changed = {
        "method": "GET",
        "host": "other.example",
        "path": "/nodes/register",
        "query": "a=1",
        "timestamp": "1790000000001",
        "nonce": str(uuid4()),
        "body_hash": hash_body(b""),
    }
    key = Ed25519PrivateKey.generate()
    signature = key.sign(string_to_sign(REQUEST, 2))
    public = key.public_key().public_bytes_raw()

    assert holds(public, signature, string_to_sign(REQUEST, 2))
    assert not holds(public, signature, string_to_sign(replace(REQUEST, **{name: changed[name]}), 2))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *(("timestamp", text) for text in ("0", "01", "-1", "1.5", "1e3", "\u0661", "9" * 16)),
        *((name, text) for name in NAMES for text in ("\u00e9", "/a b", "/a\nb", "/a\0")),
        ("host", "A.example"),
        ("method", "post"),
        ("nonce", "1"),
        ("body_hash", "AB" * 32),
    ],
)
def test_a_field_of_another_form_is_refused(name: str, text: str) -> None:
    with pytest.raises(Unauthenticated) as refused:
        string_to_sign(replace(REQUEST, **{name: text}), 2)
    assert refused.value.code == "signature_malformed"


def test_keys_and_signatures_are_read_in_hex_and_in_base64() -> None:
    signature = bytes(range(64))
    assert read_signature(signature.hex()) == (1, signature)
    assert read_signature("v2=" + base64.b64encode(signature).decode()) == (2, signature)


@pytest.mark.parametrize("text", ["", "ab", "zz" * 32, "é" * 44, "A" * 43, "A" * 43 + "=" * 9, " " * 64])
def test_what_is_neither_is_refused(text: str) -> None:
    with pytest.raises(Unauthenticated) as refused:
        read_bytes(text, 32)
    assert refused.value.code == "signature_malformed"


@given(st.binary(max_size=40), st.binary(max_size=70))
def test_whatever_comes_as_a_key_or_a_signature_does_not_hold(key: bytes, signature: bytes) -> None:
    assert not holds(key, signature, b"message")


def test_a_signature_with_a_second_spelling_does_not_hold() -> None:
    key = Ed25519PrivateKey.generate()
    signature = key.sign(b"message")
    scalar = int.from_bytes(signature[32:], "little") + ORDER
    again = signature[:32] + scalar.to_bytes(32, "little")

    assert holds(key.public_key().public_bytes_raw(), signature, b"message")
    assert not holds(key.public_key().public_bytes_raw(), again, b"message")


def test_a_key_of_small_order_is_nobodys() -> None:
    """Under the neutral element, one signature holds for every message as far as the equation goes."""
    neutral = (1).to_bytes(32, "little")
    forged = neutral + bytes(32)

    assert not holds(neutral, forged, b"whatever")
    for y in SMALL_ORDER:
        for sign in (0, 1 << 255):
            assert not is_strict_key((y | sign).to_bytes(32, "little"))


def test_a_key_has_one_spelling() -> None:
    for y in range(2, 19):
        assert is_strict_key(y.to_bytes(32, "little"))
        assert not is_strict_key((FIELD + y).to_bytes(32, "little"))


def test_the_keys_of_small_order_are_all_there() -> None:
    """The eight points whose eightfold is the neutral element have five different y."""
    d = -121665 * pow(121666, -1, FIELD) % FIELD

    def plus(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
        (x1, y1), (x2, y2) = one, other
        k = d * x1 * x2 * y1 * y2 % FIELD
        return (
            (x1 * y2 + x2 * y1) * pow(1 + k, -1, FIELD) % FIELD,
            (y1 * y2 + x1 * x2) * pow(1 - k, -1, FIELD) % FIELD,
        )

    def x_of(y: int) -> int:
        square = (y * y - 1) * pow(d * y * y + 1, -1, FIELD) % FIELD
        x = pow(square, (FIELD + 3) // 8, FIELD)
        return x if x * x % FIELD == square else x * pow(2, (FIELD - 1) // 4, FIELD) % FIELD

    eighth = next((x_of(y), y) for y in SMALL_ORDER if y not in {0, 1, FIELD - 1})
    points = [eighth]
    while points[-1] != (0, 1):
        points.append(plus(points[-1], eighth))
    assert len(points) == 8
    assert {y for _, y in points} == SMALL_ORDER
