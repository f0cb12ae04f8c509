"""What somebody asks for, before anybody stores it."""

import pytest

from shoal.runtime.errors import ShoalError
from shoal.schedules.requests import columns_of
from shoal.wire.schedules import AddSchedule, ScheduledEvent


def emitting(text: str) -> AddSchedule:
    return AddSchedule(name="s", cron="* * * * *", event=ScheduledEvent("user.x", data={"a": text}))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("x" * 65536, "schedule_data_too_large"),
        ("\u00e4" * 33_000, "schedule_data_too_large"),
        ("\x00", "text_not_storable"),
        ("\\\x00", "text_not_storable"),
    ],
    ids=["letters", "umlauts", "nul", "nul after a backslash"],
)
def test_data_the_ledger_cannot_keep_is_refused(text: str, code: str) -> None:
    with pytest.raises(ShoalError) as refusal:
        columns_of(emitting(text))
    assert refusal.value.code == code


@pytest.mark.parametrize("text", ["\\u0000", "\\\\u0000", "u0000"])
def test_what_only_looks_like_a_nul_is_kept(text: str) -> None:
    assert columns_of(emitting(text))["event_data"]
