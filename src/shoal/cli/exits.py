"""What each kind of error means to a script."""

from shoal.runtime.errors import (
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    ShoalError,
    TooLarge,
    TooOften,
    Unauthenticated,
    Unavailable,
)

BAD_NEWS = 1
DEFECT = 70
INTERRUPTED = 130

_CODES: dict[type[ShoalError], int] = {
    Invalid: 2,
    NotFound: 3,
    Unauthenticated: 4,
    Forbidden: 4,
    Conflict: 5,
    TooLarge: 6,
    Unavailable: 7,
    TooOften: 7,
}


def exit_code_of(error: ShoalError) -> int:
    return _CODES.get(type(error), DEFECT)
