"""Who counts as a member, and codes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.discord.rules import (
    ASK_AGAIN_S,
    CODE_LETTERS,
    STAYS_S,
    Known,
    capacity_for,
    format_code,
    hash_code,
    is_recent,
    judge_membership,
    next_edit_s,
    read_code,
)

NOW = 10_000.0
KNOWN = st.none() | st.builds(Known, st.booleans(), st.floats(0, NOW))


@given(st.booleans(), KNOWN)
def test_what_discord_says_decides(answer: bool, known: Known | None) -> None:
    assert judge_membership(answer, known, now=NOW) == (answer, Known(answer, NOW))


@given(KNOWN)
def test_without_an_answer_nobody_becomes_a_member(known: Known | None) -> None:
    member, remembered = judge_membership(None, known, now=NOW)
    if member:
        assert known is not None
        assert known.member
        assert NOW - known.at < STAYS_S
    if remembered is not None:
        assert remembered == known, "an answer that did not come makes nothing younger"


def test_who_was_confirmed_stays_a_member_for_a_while_and_no_longer() -> None:
    before, after = NOW - STAYS_S + 1, NOW - STAYS_S
    assert judge_membership(None, Known(member=True, at=before), now=NOW)[0]
    assert judge_membership(None, Known(member=True, at=after), now=NOW) == (False, None)
    assert not judge_membership(None, Known(member=False, at=before), now=NOW)[0]
    assert is_recent(Known(member=False, at=NOW - ASK_AGAIN_S + 1), now=NOW)
    assert not is_recent(Known(member=True, at=NOW - ASK_AGAIN_S), now=NOW)
    assert not is_recent(None, now=NOW)


@given(st.integers(0, 10**7))
def test_a_filter_has_room_for_all_and_some_more(members: int) -> None:
    assert members + 64 <= capacity_for(members) <= members * 1.04 + 64


@given(st.text(CODE_LETTERS, min_size=8, max_size=8))
def test_a_code_is_read_however_it_was_typed(letters: str) -> None:
    shown = format_code(letters)
    assert len(shown) == 9
    for typed in (shown, shown.lower(), f" {letters} ", " ".join(letters), shown.replace("-", " - ")):
        assert read_code(typed) == letters
    assert hash_code(letters) != hash_code(letters[::-1] + "2")


@pytest.mark.parametrize(
    "typed", ["", "2222", "2222-222", "2222-22222", "2222-222O", "2222-222é", "2" * 5000]
)
def test_what_is_no_code_is_none(typed: str) -> None:
    assert read_code(typed) is None


def test_a_message_is_edited_well_below_what_discord_allows() -> None:
    waits = [next_edit_s(float(passed)) for passed in range(0, 900, 10)]
    assert min(waits) >= 1.5  # of five in five seconds
    assert waits == sorted(waits)
