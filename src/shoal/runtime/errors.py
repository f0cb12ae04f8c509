"""The errors people and programs see: a stable code, what was wrong, and what to do about it.

A front door turns each kind into its own language (an HTTP status, an exit code); the code and the
words stay the same everywhere.
"""


class ShoalError(Exception):
    """Something the user can understand and act on. Anything else that is raised is a defect."""

    def __init__(self, code: str, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".rstrip()


class Invalid(ShoalError):
    """The input or the settings are wrong; the same call will fail again."""


class Unauthenticated(ShoalError):
    """Nobody we know is asking."""


class Forbidden(ShoalError):
    """We know who is asking, and they may not."""


class NotFound(ShoalError):
    """There is no such thing, or none that the caller may see."""


class Conflict(ShoalError):
    """The state of the thing does not allow it (now)."""


class TooLarge(ShoalError):
    """The input is over a limit that the message names."""


class TooOften(ShoalError):
    """Nothing is wrong with it but the pace; a moment later it passes."""


class Unavailable(ShoalError):
    """Something we depend on does not answer; trying again later makes sense."""
