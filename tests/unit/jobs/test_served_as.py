"""How an artifact is offered, whatever its row says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.jobs.rules import served_as
from shoal.vault.names import check_content_type, check_filename


@given(name=st.text(max_size=300), content_type=st.text(max_size=300))
def test_what_is_offered_can_always_be_linked(name: str, content_type: str) -> None:
    filename, kind = served_as(name, content_type)

    check_content_type(kind)
    if filename is not None:
        check_filename(filename)
        assert name.endswith(filename)


@pytest.mark.parametrize(
    ("name", "content_type", "offered"),
    [
        ("a.mp3", "audio/mpeg", ("a.mp3", "audio/mpeg")),
        ("audio/a.mp3", "audio", ("a.mp3", "application/octet-stream")),
        ("", "text/plain", (None, "text/plain")),
        ("a/..", "text/plain", (None, "text/plain")),
    ],
)
def test_a_good_name_is_kept(name: str, content_type: str, offered: tuple[str, str]) -> None:
    assert served_as(name, content_type) == offered
