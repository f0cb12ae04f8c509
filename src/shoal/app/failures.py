"""How a task says what its failure means. Any other exception means: try again, as declared."""


class PermanentFailure(Exception):
    """Trying again will not help: the task fails now, whatever attempts are left."""


class RetryAfter(Exception):
    """Try again, but not before this many seconds have passed."""

    def __init__(self, seconds: float, message: str = "") -> None:
        super().__init__(message or f"asked to be tried again in {seconds:g} s")
        self.seconds = seconds
