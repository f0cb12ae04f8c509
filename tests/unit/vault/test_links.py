"""A link grants exactly what was signed, until it ends, and not with one letter changed."""

from datetime import UTC, datetime, timedelta
from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shoal.runtime.errors import Forbidden, Invalid
from shoal.vault.links import PATH, Grant, LinkSigner
from shoal.vault.names import is_key

NOW = datetime(2026, 7, 1, 12, 0, 0, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
SIGNER = LinkSigner("s" * 32, "http://127.0.0.1:8700/")

keys = st.text(min_size=1, max_size=30).filter(is_key)
names = st.none() | st.text(min_size=1, max_size=20).filter(lambda text: is_key(text) and "/" not in text)
types = st.sampled_from(["application/pdf", "text/plain; charset=utf-8", 'a/b; c="&=%;+"'])


def split(url: str) -> tuple[str, str]:
    """What the API's route gets: the key, decoded, and the raw query."""
    parts = urlsplit(url)
    assert parts.path.startswith(PATH)
    return unquote(parts.path.removeprefix(PATH)), parts.query


@given(keys, types, names)
def test_a_link_grants_what_was_signed(key: str, content_type: str, filename: str | None) -> None:
    url = SIGNER.sign(key, content_type=content_type, filename=filename, expires_at=LATER)
    assert url.startswith("http://127.0.0.1:8700/files/")
    assert url.isascii()
    assert SIGNER.verify(*split(url), NOW) == Grant(key, content_type, filename, LATER)


@given(st.data(), keys, types, names)
def test_any_changed_character_is_refused(
    data: st.DataObject, key: str, content_type: str, filename: str | None
) -> None:
    url = SIGNER.sign(key, content_type=content_type, filename=filename, expires_at=LATER)
    _, query = split(url)
    text = key + "?" + query
    at = data.draw(st.integers(0, len(text) - 1).filter(lambda index: index != len(key)))
    character = data.draw(
        (st.sampled_from("0aAfF%+&=;/ .\0") | st.characters()).filter(lambda one: one != text[at])
    )
    mode = data.draw(st.sampled_from(["replace", "insert", "delete"]))
    rest = text[at:] if mode == "insert" else text[at + 1 :]
    changed = text[:at] + ("" if mode == "delete" else character) + rest
    cut = len(changed) - len(query) if at < len(key) else len(key) + 1
    pair = (changed[: cut - 1], changed[cut:])
    if pair == (key, query):
        return
    with pytest.raises(Forbidden) as refusal:
        SIGNER.verify(*pair, NOW)
    assert refusal.value.code == "link_invalid"


@pytest.mark.parametrize(
    "change",
    [
        lambda _: "",
        lambda query: query + "&",
        lambda query: query + "&more=1",
        lambda query: query + "&expires=9999999999",
        lambda query: "expires=9999999999&" + query,
        lambda query: query.replace("expires=", "expires=0"),
        lambda query: query.replace("expires=", "expires=-"),
        lambda query: query.replace("expires=", "expires=" + "9" * 30),
        lambda query: query.replace("expires=", "expires=" + "9" * 6000),
        lambda query: query.replace("%2F", "%2f"),
        lambda query: query.replace("%2F", "/"),
        lambda query: query.replace("%20", "+"),
        lambda query: query.upper(),
        lambda query: query.partition("&signature")[0],
        lambda query: "&".join(reversed(query.split("&"))),
        lambda query: query.replace("name=", "type="),
        lambda query: query + "%ff",
        lambda query: query + "\ud800",
    ],
)
def test_a_query_written_in_another_way_is_refused(change: object) -> None:
    url = SIGNER.sign("a", content_type="text/plain", filename="a b", expires_at=LATER)
    key, query = split(url)
    changed = change(query)  # type: ignore[operator] # a lambda of str
    assert changed != query
    with pytest.raises(Forbidden) as refusal:
        SIGNER.verify(key, changed, NOW)
    assert refusal.value.code == "link_invalid"


def test_a_link_ends_at_its_moment() -> None:
    url = SIGNER.sign("a", content_type="text/plain", filename=None, expires_at=LATER)
    SIGNER.verify(*split(url), LATER - timedelta(seconds=1))
    for moment in (LATER, LATER + timedelta(days=1)):
        with pytest.raises(Forbidden) as refusal:
            SIGNER.verify(*split(url), moment)
        assert refusal.value.code == "link_expired"


def test_a_forged_link_that_ended_is_called_forged() -> None:
    url = SIGNER.sign("a", content_type="text/plain", filename=None, expires_at=LATER)
    _, query = split(url)
    with pytest.raises(Forbidden) as refusal:
        SIGNER.verify("b", query, LATER)
    assert refusal.value.code == "link_invalid"


def test_another_secret_makes_another_signature() -> None:
    other = LinkSigner("t" * 32, "http://127.0.0.1:8700")
    url = other.sign("a", content_type="text/plain", filename=None, expires_at=LATER)
    with pytest.raises(Forbidden):
        SIGNER.verify(*split(url), NOW)


grants = st.tuples(keys, types, names)


@given(grants, grants)
@example(("k", "aa/b", None), ("ka", "a/b", None))
@example(("k", "a/b", "n"), ("k", "a/bn", None))
def test_two_grants_never_share_a_signature(
    one: tuple[str, str, str | None], two: tuple[str, str, str | None]
) -> None:
    assert (_signature(*one) == _signature(*two)) == (one == two)


def _signature(key: str, content_type: str, filename: str | None) -> str:
    url = SIGNER.sign(key, content_type=content_type, filename=filename, expires_at=LATER)
    return url.rpartition("signature=")[2]


@pytest.mark.parametrize(
    ("secret", "url", "code"),
    [
        ("short", "http://h", "vault_link_secret_too_short"),
        ("s" * 32, "", "invalid_vault_link_url"),
        ("s" * 32, "h:8700", "invalid_vault_link_url"),
    ],
)
def test_a_signer_that_could_not_work_is_refused(secret: str, url: str, code: str) -> None:
    with pytest.raises(Invalid) as refusal:
        LinkSigner(secret, url)
    assert refusal.value.code == code
    assert "short" not in refusal.value.message
