"""Keys stay below the root, whatever they say; content types and file names fit a header."""

import os.path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.runtime.errors import Invalid
from shoal.vault.names import check_content_type, check_filename, check_key, is_key


@pytest.mark.parametrize(
    "key",
    ["a", "a/b/c.pdf", "ü/ñ 1", "a..b", "...", ".hidden/x", "a/.incoming", "%2e%2e/a", "a" * 255],
)
def test_an_ordinary_key_is_fine(key: str) -> None:
    assert check_key(key) == key


@pytest.mark.parametrize(
    "key",
    [
        *("", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "a/..", "a/./b", "a\\b"),
        *("a\0b", "a\nb", "a\x7fb", "a\x85b", "a\ud800b", ".incoming", ".incoming/a"),
        *("a" * 256, "ü" * 128, "/".join(["a" * 200] * 4)),
    ],
)
def test_a_key_that_could_escape_or_break_something_is_refused(key: str) -> None:
    assert not is_key(key)
    with pytest.raises(Invalid) as refusal:
        check_key(key)
    assert refusal.value.code == "invalid_object_key"
    refusal.value.message.encode()


@given(st.text(st.sampled_from("ab./\\\0 \n%ü~") | st.characters(), max_size=20))
def test_no_accepted_key_leaves_the_root_or_means_another_one(key: str) -> None:
    if is_key(key):
        assert os.path.normpath(f"/root/{key}") == f"/root/{key}"
        assert key.encode().decode() == key


@pytest.mark.parametrize("good", ["text/plain", "text/html; charset=utf-8", "image/svg+xml"])
def test_a_content_type_is_accepted(good: str) -> None:
    assert check_content_type(good) == good


@pytest.mark.parametrize(
    "bad", ["", "text", "text/", "a/b\r\nX: y", "a/b; c=\n", "a b/c", "a/b\n", "ä/b", "a/" + "b" * 300]
)
def test_what_is_no_content_type_is_refused(bad: str) -> None:
    with pytest.raises(Invalid) as refusal:
        check_content_type(bad)
    assert refusal.value.code == "invalid_content_type"


@pytest.mark.parametrize("bad", ["", "a/b", "..", "a\nb", "a" * 256, "a\\b"])
def test_what_is_no_file_name_is_refused(bad: str) -> None:
    with pytest.raises(Invalid) as refusal:
        check_filename(bad)
    assert refusal.value.code == "invalid_filename"
