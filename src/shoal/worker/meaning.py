"""What an exception of a task means for it: lasting, to be tried again, or (again) after a while."""

import msgspec

from shoal.app.failures import PermanentFailure, RetryAfter, Snooze
from shoal.runtime.errors import ShoalError, Unavailable


class Meaning(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """``text`` is for the owner of the job, ``code`` one of ``FAILURE_CODES`` for those who count.
    ``is_surprise``: the task did not mean to raise it.
    """

    text: str
    code: str = "error"
    permanent: bool = False
    retry_after_s: float | None = None
    snooze_s: float | None = None
    is_surprise: bool = False


class TookTooLong(Exception):
    """The task was stopped at its time limit."""


class Foretold(Exception):
    """A failure that happened elsewhere, where its meaning was worked out already."""

    def __init__(self, meaning: Meaning) -> None:
        super().__init__(meaning.text)
        self.meaning = meaning


def meaning_of(error: BaseException) -> Meaning:
    match error:
        case Foretold():
            return error.meaning
        case Snooze():
            return Meaning(text=str(error), snooze_s=error.seconds)
        case RetryAfter():
            return Meaning(text=str(error), code="retry_after", retry_after_s=error.seconds)
        case PermanentFailure() | TookTooLong():
            lasts = isinstance(error, PermanentFailure)
            return Meaning(text=str(error), code="permanent" if lasts else "timeout", permanent=lasts)
        case ShoalError():
            passes = isinstance(error, Unavailable)
            code = "unavailable" if passes else "refused"
            return Meaning(text=f"{error.code}: {error}", code=code, permanent=not passes)
        case _:
            words = filter(None, (type(error).__name__, str(error)))
            return Meaning(text=": ".join(words), is_surprise=True)
