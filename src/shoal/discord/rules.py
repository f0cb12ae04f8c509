"""Pure decisions about membership."""

import hashlib
import re
from dataclasses import dataclass

LEAST_ROOM = 64
ROOM_SHARE = 32
"""One part in so many of a guild may join before its filter is built anew, which costs no network call."""

ASK_AGAIN_S = 30.0
"""For so long an answer of Discord's API is not asked for again."""
STAYS_S = 300.0
"""For so long a confirmed member stays one while Discord does not answer."""

CODE_LETTERS = "23456789ABCDEFGHJKMNPQRSTVWXYZ"
CODE_LENGTH = 8
CODE = re.compile(f"[{CODE_LETTERS}]{{{CODE_LENGTH}}}")


@dataclass(frozen=True)
class Known:
    """What Discord last said of a user in a guild, and when."""

    member: bool
    at: float


def capacity_for(members: int) -> int:
    """For how many members a filter is made."""
    return members + members // ROOM_SHARE + LEAST_ROOM


def is_recent(known: Known | None, *, now: float) -> bool:
    return known is not None and now - known.at < ASK_AGAIN_S


def judge_membership(answer: bool | None, known: Known | None, *, now: float) -> tuple[bool, Known | None]:
    """Whether somebody counts as a member, and what to remember of it.

    * Discord's answer decides.
    * Without one, who was confirmed lately stays a member for a while; nobody becomes one.
    """
    if answer is not None:
        return answer, Known(answer, now)
    if known is None or now - known.at >= STAYS_S:
        return False, None
    return known.member, known


def format_code(letters: str) -> str:
    """In two halves, as people copy it."""
    return f"{letters[: CODE_LENGTH // 2]}-{letters[CODE_LENGTH // 2 :]}"


def read_code(text: str) -> str | None:
    """The letters of a code, however it was typed; None for what cannot be one."""
    letters = re.sub(r"[\s-]", "", text).upper()
    return letters if CODE.fullmatch(letters) else None


def hash_code(letters: str) -> bytes:
    return hashlib.sha256(letters.encode()).digest()


def next_edit_s(passed_s: float) -> float:
    """How long to wait before a message with live progress is looked at again."""
    if passed_s < 60:
        return 2.0
    return 5.0 if passed_s < 300 else 10.0
