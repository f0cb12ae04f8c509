"""Pure decisions about membership."""

LEAST_ROOM = 64
ROOM_SHARE = 32
"""One part in so many of a guild may join before its filter is built anew, which costs no network call."""


def capacity_for(members: int) -> int:
    """For how many members a filter is made."""
    return members + members // ROOM_SHARE + LEAST_ROOM
