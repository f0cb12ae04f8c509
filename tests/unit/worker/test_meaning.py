"""What an exception means for its task."""

import pytest

from shoal.app.failures import PermanentFailure, RetryAfter, Snooze
from shoal.runtime.errors import Invalid, Unavailable
from shoal.worker.meaning import Foretold, Meaning, TookTooLong, meaning_of


@pytest.mark.parametrize(
    ("error", "meaning"),
    [
        (Snooze(5, "early"), Meaning(text="early", snooze_s=5)),
        (RetryAfter(5, "busy"), Meaning(text="busy", code="retry_after", retry_after_s=5)),
        (PermanentFailure("never"), Meaning(text="never", code="permanent", permanent=True)),
        (
            Invalid("bad_page", "No.", hint="Yes."),
            Meaning(text="bad_page: No. Yes.", code="refused", permanent=True),
        ),
        (Unavailable("no_ink", "No ink."), Meaning(text="no_ink: No ink.", code="unavailable")),
        (TookTooLong("too long"), Meaning(text="too long", code="timeout")),
        (Foretold(Meaning(text="elsewhere", permanent=True)), Meaning(text="elsewhere", permanent=True)),
        (ValueError("no"), Meaning(text="ValueError: no", is_surprise=True)),
        (ValueError(), Meaning(text="ValueError", is_surprise=True)),
        (SystemExit(3), Meaning(text="SystemExit: 3", is_surprise=True)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_exception_says_what_is_to_become_of_the_task(error: BaseException, meaning: Meaning) -> None:
    assert meaning_of(error) == meaning
