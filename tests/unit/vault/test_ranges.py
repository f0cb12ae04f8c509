"""A single range as RFC 9110 has it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.vault.ranges import Range, Unsatisfiable, parse_range


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("bytes=0-499", Range(0, 500)),
        ("bytes=500-999", Range(500, 1000)),
        ("bytes=500-", Range(500, 1000)),
        ("bytes=500-99999", Range(500, 1000)),
        ("bytes=-500", Range(500, 1000)),
        ("bytes=-99999", Range(0, 1000)),
        ("bytes=999-999", Range(999, 1000)),
        ("BYTES=0-0", Range(0, 1)),
        ("bytes= 0-0 ", Range(0, 1)),
        ("bytes=0-" + "9" * 6000, Range(0, 1000)),
        ("bytes=-" + "9" * 6000, Range(0, 1000)),
        ("bytes=" + "0" * 40 + "5-5", Range(5, 6)),
    ],
)
def test_a_range_inside_the_object(header: str, expected: Range) -> None:
    assert parse_range(header, 1000) == expected


@pytest.mark.parametrize(
    "header",
    [
        *(None, "", "bytes", "bytes=", "bytes=-", "bytes=a-b", "bytes=5-4", "bytes=1--2"),
        *("items=0-1", "bytes=0-1,5-6", "bytes=0-1,", "bytes 0-1", "bytes=+1-2", "bytes=0x1-2"),
        *("bytes=0 - 1", "bytes=\u0660-\u0661", "bytes=0-1;", " bytes=0-1\n", "bytes=1.0-2"),
    ],
)
def test_a_header_to_be_ignored_gives_the_whole_object(header: str | None) -> None:
    assert parse_range(header, 1000) is None


@pytest.mark.parametrize(
    ("header", "size"),
    [
        *(("bytes=1000-", 1000), ("bytes=1000-2000", 1000), ("bytes=-0", 1000)),
        *(("bytes=0-", 0), ("bytes=0-0", 0), ("bytes=-0", 0), ("bytes=" + "9" * 6000 + "-", 5)),
    ],
)
def test_a_range_outside_the_object_is_unsatisfiable(header: str, size: int) -> None:
    with pytest.raises(Unsatisfiable) as refusal:
        parse_range(header, size)
    assert refusal.value.code == "range_not_satisfiable"
    assert refusal.value.content_range == f"bytes */{size}"


def test_the_last_bytes_of_an_empty_object_are_all_of_it() -> None:
    assert parse_range("bytes=-5", 0) is None


@given(st.integers(0, 50), st.integers(0, 60) | st.none(), st.integers(0, 60) | st.none())
def test_a_range_selects_what_the_rfc_says(size: int, first: int | None, last: int | None) -> None:
    content = bytes(range(size))
    if first is None:
        expected = content[-last:] if last else b""
    else:
        expected = content[first : None if last is None else last + 1]
    header = f"bytes={'' if first is None else first}-{'' if last is None else last}"
    try:
        found = parse_range(header, size)
    except Unsatisfiable:
        assert expected == b""
    else:
        if found is not None:
            assert content[found.start : found.end] == expected
            assert 0 <= found.start < found.end <= size
            assert found.content_range(size) == f"bytes {found.start}-{found.end - 1}/{size}"


@given(st.text(max_size=20) | st.from_regex(r"bytes=[0-9]{0,3}-[0-9]{0,3}[, ]?"), st.integers(0))
def test_nothing_a_client_sends_breaks_it(header: str, size: int) -> None:
    try:
        found = parse_range(header, size)
    except Unsatisfiable:
        return
    assert found is None or 0 <= found.start < found.end <= size
