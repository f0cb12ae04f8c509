"""Answers of our API that are refusals, as the errors they stand for; and the way to the API."""

from urllib.parse import urlsplit

import msgspec

from shoal.runtime.errors import (
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    ShoalError,
    TooLarge,
    Unauthenticated,
    Unavailable,
)
from shoal.wire.problems import Problem

KINDS: dict[int, type[ShoalError]] = {
    400: Invalid,
    401: Unauthenticated,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    413: TooLarge,
}
LOOPBACK = {"127.0.0.1", "::1", "localhost"}


def refusal(status: int, content: bytes) -> ShoalError:
    """The error of an answer that is no success. One that is not ours comes from something in between."""
    try:
        problem = msgspec.json.decode(content, type=Problem)
    except msgspec.DecodeError:
        return Unavailable("api_unreachable", f"The API answered {status}.")
    kind = KINDS.get(status, Unavailable)
    return kind(problem.code, problem.detail, hint=problem.hint or "")


def through_proxy(url: str) -> bool:
    """Whether the proxy of the environment is used; nothing on this machine is reached through one."""
    return urlsplit(url).hostname not in LOOPBACK
