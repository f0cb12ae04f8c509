"""What every error looks like on the wire: problem details (RFC 9457) with a stable code."""

import msgspec

MEDIA_TYPE = "application/problem+json"


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Programs look at ``code``; people read ``detail`` and ``hint``."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    hint: str = ""
    instance: str = ""


def problem_type(code: str) -> str:
    return f"urn:shoal:problem:{code}"
