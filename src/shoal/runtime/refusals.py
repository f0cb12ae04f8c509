"""What the refusals of the database mean to people.

Our SQL functions raise with a SQLSTATE of class ``SH``, a sentence as the message, the stable code as
the detail and the advice as the hint. A column that is over its size limit breaks a check whose name
ends in ``_fit`` or ``_fits``. A full disk is no refusal of ours, but people can do something about it, and
whoever waits for the ledger to come back (``REPEATABLE``) waits for that as well.
"""

import re

from shoal.runtime.errors import Conflict, Forbidden, Invalid, NotFound, ShoalError, TooLarge, Unavailable

KINDS: dict[str, type[ShoalError]] = {
    "SH400": Invalid,
    "SH403": Forbidden,
    "SH404": NotFound,
    "SH409": Conflict,
    "SH413": TooLarge,
}

# How create_jobs says which job of a batch an error is about.
PLACE_IN_BATCH = re.compile(r"jobs\[(\d+)\]: ")

TOO_LARGE = "23514"  # a check violation, when the constraint is one of a size
NOT_STORABLE = {"22P05", "22021"}  # U+0000 in a document, and in a text
DISK_FULL = "53100"


def translate(error: Exception, *, jobs_before: int = 0) -> ShoalError | None:
    """An error of asyncpg as people shall see it; None when it is a defect and not a refusal.

    ``jobs_before`` is how many jobs of a larger batch earlier calls have created.
    """
    sqlstate = getattr(error, "sqlstate", None)
    kind = KINDS.get(sqlstate or "")
    place, message = _place_in_batch(getattr(error, "message", None) or str(error), jobs_before)
    if kind is not None:
        hint = getattr(error, "hint", None) or ""
        return kind(getattr(error, "detail", None) or "refused", place + message, hint=hint)
    constraint = getattr(error, "constraint_name", None) or ""
    if sqlstate == TOO_LARGE and constraint.endswith(("_fit", "_fits")):
        what = constraint.removesuffix("_fits").removesuffix("_fit").replace("_", " ")
        return TooLarge(
            f"{what.replace(' ', '_')}_too_large",
            f"{place}The {what} is over the limit of the ledger (64 KiB).",
            hint="Keep large values as artifacts, and pass their names.",
        )
    if sqlstate in NOT_STORABLE:
        return Invalid("text_not_storable", "A text holds the character U+0000, which cannot be stored.")
    if sqlstate == DISK_FULL:
        return Unavailable(
            "database_disk_full",
            "The disk of the database is full.",
            hint="Make room on it: what was confirmed is kept, and what waits goes on by itself.",
        )
    return None


def _place_in_batch(message: str, jobs_before: int) -> tuple[str, str]:
    match = PLACE_IN_BATCH.match(message)
    if match is None:
        return "", message
    return f"jobs[{int(match[1]) + jobs_before}]: ", message[match.end() :]
