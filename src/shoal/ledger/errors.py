"""What the ledger's own refusals mean to people.

Our SQL functions raise with a SQLSTATE of class ``SH``, a sentence as the message, the stable code as
the detail and the advice as the hint. A column that is over its size limit breaks a check whose name
ends in ``_fit`` or ``_fits``. A full disk is no refusal of ours, but people can do something about it, and
whoever waits for the ledger to come back (``REPEATABLE``) waits for that as well.
"""

import re

import asyncpg

from shoal.runtime.errors import Conflict, Forbidden, Invalid, NotFound, ShoalError, TooLarge, Unavailable

KINDS: dict[str, type[ShoalError]] = {
    "SH400": Invalid,
    "SH403": Forbidden,
    "SH404": NotFound,
    "SH409": Conflict,
    "SH413": TooLarge,
}

# How create_jobs says which job of a batch an error is about.
PLACE_IN_BATCH = re.compile(r"jobs\[\d+\]: ")

# U+0000 in a document, and in a text.
NOT_STORABLE = (asyncpg.UntranslatableCharacterError, asyncpg.CharacterNotInRepertoireError)


def translate(error: asyncpg.PostgresError) -> ShoalError | None:
    """The error as people shall see it; None when it is a defect and not a refusal."""
    kind = KINDS.get(error.sqlstate or "")
    if kind is not None:
        return kind(error.detail or "refused", error.message or str(error), hint=error.hint or "")
    constraint = getattr(error, "constraint_name", None) or ""
    if isinstance(error, asyncpg.CheckViolationError) and constraint.endswith(("_fit", "_fits")):
        what = constraint.removesuffix("_fits").removesuffix("_fit").replace("_", " ")
        return TooLarge(
            f"{what.replace(' ', '_')}_too_large",
            f"{_place_in_batch(error)}The {what} is over the limit of the ledger (64 KiB).",
            hint="Keep large values as artifacts, and pass their names.",
        )
    if isinstance(error, NOT_STORABLE):
        return Invalid("text_not_storable", "A text holds the character U+0000, which cannot be stored.")
    if isinstance(error, asyncpg.DiskFullError):
        return Unavailable(
            "database_disk_full",
            "The disk of the database is full.",
            hint="Make room on it: what was confirmed is kept, and what waits goes on by itself.",
        )
    return None


def _place_in_batch(error: asyncpg.PostgresError) -> str:
    match = PLACE_IN_BATCH.match(str(error))
    return match.group() if match else ""
