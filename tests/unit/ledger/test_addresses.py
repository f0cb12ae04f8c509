"""A database address that is wrong is explained, and its password stays out of the words."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.ledger.connection import connect
from shoal.ledger.pool import Ledger
from shoal.ledger.settings import LedgerSettings
from shoal.runtime.errors import Invalid, ShoalError

MARKS = ("Zq7xVvKp", "Wk3mTtRd")


def refusal(url: str) -> ShoalError:
    with pytest.raises(ShoalError) as one:
        asyncio.run(connect(url, application="test"))
    with pytest.raises(ShoalError) as other:
        asyncio.run(Ledger(LedgerSettings(database_url=url)).start())
    assert str(one.value) == str(other.value)
    assert one.value.hint
    return one.value


def test_no_address_says_how_to_give_one() -> None:
    error = refusal("")
    assert (type(error), error.code) == (Invalid, "database_not_configured")
    assert "SHOAL_DATABASE_URL" in error.hint


@pytest.mark.parametrize(
    "url",
    [
        "mysql://ann:s3cret@127.0.0.1/x",
        "ann:s3cret@127.0.0.1/x",
        "postgresql://ann:s3cret@127.0.0.1:port/x",
        "postgresql://ann:s3cret@[::1/x",
        "postgresql://ann:s3cret@127.0.0.1:1/x?sslmode=perhaps",
    ],
)
def test_a_malformed_address_is_said_so(url: str) -> None:
    error = refusal(url)
    assert (type(error), error.code) == (Invalid, "database_url_malformed")
    assert "s3cret" not in str(error)


@settings(deadline=None, max_examples=60)
@given(st.text(st.sampled_from("/?#@:%[]& \\'\"0"), min_size=1, max_size=3), st.booleans())
def test_a_password_that_breaks_the_address_is_not_shown(special: str, has_host: bool) -> None:
    """Nobody listens on port 1, so that every attempt ends in a refusal."""
    place = "127.0.0.1:1" if has_host else ""
    error = refusal(f"postgresql://ann:{MARKS[0]}{special}{MARKS[1]}@{place}/x?connect_timeout=1&port=1")
    for mark in MARKS:
        assert mark.lower() not in str(error).lower()
