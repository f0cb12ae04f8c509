"""Our errors as gRPC statuses. The code of the error goes along in the trailing metadata."""

from typing import Any, NoReturn

import grpc

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

CODE = "shoal-code"

_STATUS: dict[type[ShoalError], grpc.StatusCode] = {
    Invalid: grpc.StatusCode.INVALID_ARGUMENT,
    Unauthenticated: grpc.StatusCode.UNAUTHENTICATED,
    Forbidden: grpc.StatusCode.PERMISSION_DENIED,
    NotFound: grpc.StatusCode.NOT_FOUND,
    Conflict: grpc.StatusCode.ABORTED,
    TooLarge: grpc.StatusCode.RESOURCE_EXHAUSTED,
    Unavailable: grpc.StatusCode.UNAVAILABLE,
}

Context = grpc.aio.ServicerContext[Any, Any]


async def abort(context: Context, error: ShoalError) -> NoReturn:
    status = _STATUS.get(type(error), grpc.StatusCode.INTERNAL)
    await context.abort(status, str(error), ((CODE, error.code),))
    raise AssertionError("abort returned")
