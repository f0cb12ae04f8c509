"""Redis URLs: what is understood, what is refused, and what is never shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.brain.address import SentinelAddress, parse_address
from shoal.brain.connection import Brain
from shoal.brain.settings import BrainSettings
from shoal.runtime.errors import Invalid


@pytest.mark.parametrize(
    ("url", "sentinel"),
    [
        ("redis+sentinel://one/fish", SentinelAddress((("one", 26379),), "fish")),
        (
            "redis+sentinel://one:1,two:2,[::1]:3/fish/4",
            SentinelAddress((("one", 1), ("two", 2), ("::1", 3)), "fish", 4),
        ),
        (
            "redis+sentinel://ann:p%40ss%3A@one,two/my%20fish",
            SentinelAddress((("one", 26379), ("two", 26379)), "my fish", 0, username="ann", password="p@ss:"),
        ),
        (
            "redis+sentinel://:secret@one/fish/0",
            SentinelAddress((("one", 26379),), "fish", password="secret"),
        ),
    ],
)
def test_a_sentinel_url_is_taken_apart(url: str, sentinel: SentinelAddress) -> None:
    assert parse_address(url).sentinel == sentinel


@pytest.mark.parametrize(
    "url",
    [
        "redis://localhost",
        "redis://localhost:6379/0",
        "rediss://ann:secret@redis.example:6380/2?ssl_cert_reqs=none",
        "redis://[::1]:6379",
        "unix:///run/valkey.sock?db=3",
        "unix://:secret@/run/valkey.sock",
    ],
)
def test_an_ordinary_url_is_left_to_redis_py(url: str) -> None:
    assert parse_address(url).sentinel is None
    Brain(BrainSettings(redis_url=url))


@pytest.mark.parametrize(
    "url",
    [
        "localhost:6379",
        "http://localhost",
        "redis:///0",
        "redis://localhost:port",
        "redis://localhost:99999",
        "redis://localhost/zero",
        "redis://localhost?db=zero",
        "redis://[::1",
        "unix://relative.sock",
        "redis+sentinel://one",
        "redis+sentinel:///fish",
        "redis+sentinel://one,,two/fish",
        "redis+sentinel://one:x/fish",
        "redis+sentinel://one/fish/zero",
        "redis+sentinel://one/fish/0/1",
        "redis://ann:pass?word@localhost",
    ],
)
def test_a_url_that_cannot_work_is_refused(url: str) -> None:
    with pytest.raises(Invalid) as refusal:
        parse_address(url)
    assert refusal.value.code == "invalid_redis_url"
    assert refusal.value.hint


def test_no_url_at_all_has_a_message_of_its_own() -> None:
    with pytest.raises(Invalid) as refusal:
        Brain(BrainSettings())
    assert refusal.value.code == "redis_url_missing"


@given(
    scheme=st.sampled_from(["redis", "rediss", "unix", "redis+sentinel", "http"]),
    place=st.sampled_from(["h:1/f", "h:x/f", "h/f/x", "/run/s", "", "h:99999", "[::1/f", "h,,i/f"]),
    secret=st.text("abcXYZ0123456789@:%/?#,", min_size=6, max_size=12),
)
def test_a_password_is_shown_neither_in_the_address_nor_in_an_error(
    scheme: str, place: str, secret: str
) -> None:
    secret = f"pw{secret}pw"
    assert secret not in _shown(f"{scheme}://ann:{secret}@{place}")


def _shown(url: str) -> str:
    try:
        address = parse_address(url)
    except Invalid as refusal:
        return str(refusal)
    return address.shown + repr(address)
