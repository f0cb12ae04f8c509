"""The names of the keys the foundation itself uses. A room's keys live in that room."""

BACKGROUND_LEADER = "background:leader"
"""The lease of the one sentinel that runs the background chores."""


def rate_limit(action: str, subject: str, window_ms: int) -> str:
    """What ``subject`` did of ``action`` lately; an ``action`` has no colon, a subject may."""
    return f"ratelimit:{action}:{subject}:{window_ms}"
