"""Jobs as the rules see them."""

from dataclasses import dataclass

from shoal.wire.live import JobMessage


@dataclass(frozen=True)
class Phase:
    """A stretch of the progress: from the end of the one before to ``ends``, in percent."""

    name: str
    ends: float
    total: int
    done: int


@dataclass(frozen=True)
class RunningTask:
    """What a claimed task last said: its phase (1 is the first), how far it is, and its words. ``chunks`` is
    how many chunks a task of the fleet has.
    """

    phase: int
    fraction: float
    message: str
    chunks: int | None = None


@dataclass(frozen=True)
class Said:
    """What the listeners of a job were told last, when (on a clock that never jumps), and how often."""

    message: JobMessage
    at: float
    times: int = 1
