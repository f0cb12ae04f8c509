"""Every error as a problem: one table from kinds to statuses, and nothing leaked."""

from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any
from uuid import uuid4

import asyncpg
import msgspec
import structlog
from litestar import Request, Response
from litestar.exceptions import HTTPException, ValidationException
from redis.exceptions import RedisError

from shoal.brain.connection import is_away
from shoal.runtime.errors import (
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    ShoalError,
    TooLarge,
    TooOften,
    Unauthenticated,
    Unavailable,
)
from shoal.wire.problems import MEDIA_TYPE, Problem, problem_type

log = structlog.get_logger(__name__)

STATUS_OF: Mapping[type[ShoalError], int] = {
    Invalid: 400,
    Unauthenticated: 401,
    Forbidden: 403,
    NotFound: 404,
    Conflict: 409,
    TooLarge: 413,
    TooOften: 429,
    Unavailable: 503,
    ShoalError: 500,
}

# What the framework refuses by itself: status → code, detail, hint.
REFUSED = {
    404: ("not_found", "There is nothing at this address.", "The API is listed at /api/docs."),
    405: ("method_not_allowed", "This address does not take that method.", "See the Allow header."),
    413: ("body_too_large", "The request body is over the limit.", "Send less, or in parts."),
}

# The database went away while it was being used.
DATABASE_GONE = (
    asyncpg.PostgresConnectionError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.TooManyConnectionsError,
    ConnectionError,
)

RETRY_AFTER_S = "2"
MOST_FIELDS_NAMED = 5

Headers = Mapping[str, str]


class UnsupportedMedia(HTTPException):
    """The body is not of a type that is taken here."""

    status_code = 415


def answer_error(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    """The response to an error raised below; registered for all of them."""
    problem, headers = to_problem(error)
    return problem_response(problem, headers, path=str(request.scope.get("asked_path", "")))


def problem_response(problem: Problem, headers: Headers, *, path: str) -> Response[bytes]:
    if not problem.instance:
        problem = msgspec.structs.replace(problem, instance=path)
    return Response(
        msgspec.json.encode(problem),
        status_code=problem.status,
        media_type=MEDIA_TYPE,
        headers=headers,
    )


def to_problem(error: Exception, *, status: int | None = None) -> tuple[Problem, Headers]:
    """The problem of an error; ``status`` where HTTP has a finer one than the error's kind."""
    if isinstance(error, DATABASE_GONE):
        log.warning("database gone during a request", error=str(error) or repr(error))
        error = Unavailable(
            "database_unreachable", "The database does not answer.", hint="Try again in a moment."
        )
    elif isinstance(error, RedisError) and is_away(error):
        log.warning("brain gone during a request", error=str(error) or repr(error))
        error = Unavailable("redis_unreachable", "The brain does not answer.", hint="Try again in a moment.")
    if isinstance(error, ShoalError):
        known = status or _status_of(error)
        return _problem(known, error.code, error.message, error.hint), _headers_for(error)
    if isinstance(error, HTTPException) and error.status_code < 500:
        return _refusal(error), error.headers or {}
    return _incident(error), {}


def _status_of(error: ShoalError) -> int:
    return next(status for kind, status in STATUS_OF.items() if isinstance(error, kind))


def _headers_for(error: ShoalError) -> Headers:
    if isinstance(error, Unauthenticated):
        refused = "" if error.code == "token_missing" else ', error="invalid_token"'
        return {"WWW-Authenticate": f'Bearer realm="shoal"{refused}'}
    if isinstance(error, Unavailable | TooOften):
        return {"Retry-After": RETRY_AFTER_S}
    return {}


def _refusal(error: HTTPException) -> Problem:
    status = error.status_code
    if isinstance(error, ValidationException):
        detail = _fields_named(error.extra) if isinstance(error.extra, list) else error.detail
        return _problem(400, "invalid_request", detail, "The fields are described at /api/docs.")
    if status in REFUSED:
        return _problem(status, *REFUSED[status])
    code = "media_type_not_supported" if status == 415 else "invalid_request"
    return _problem(status, code, error.detail, "The API is described at /api/docs.")


def _fields_named(errors: Iterable[Mapping[str, str]]) -> str:
    """``seed: Expected `int`, got `str```; the body as a whole has no name."""
    named = []
    for one in errors:
        key = one.get("key", "data")
        is_missing = one["message"] == repr(key)  # a KeyError, in Litestar's words
        why = "it is missing" if is_missing else one["message"]
        named.append(f"{'the body' if key == 'data' else key}: {why}")
    return "; ".join(named[:MOST_FIELDS_NAMED])


def _incident(error: Exception) -> Problem:
    incident = uuid4().hex
    log.error("request failed", incident=incident, exc_info=error)
    return _problem(
        500,
        "internal_error",
        f"Something went wrong here. The incident is {incident}.",
        "Try again; if it goes on, tell the operator the incident's id.",
        instance=f"urn:shoal:incident:{incident}",
    )


def _problem(status: int, code: str, detail: str, hint: str = "", instance: str = "") -> Problem:
    return Problem(
        type=problem_type(code),
        title=HTTPStatus(status).phrase,
        status=status,
        code=code,
        detail=detail,
        hint=hint,
        instance=instance,
    )
