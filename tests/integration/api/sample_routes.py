"""Routes as a room's would be, to see how the edge treats them."""

from typing import Any
from uuid import UUID

import msgspec
from litestar import get, post
from litestar.params import FromPath, FromQuery, JSONBody

from shoal.api.identity import Caller, services_only, users_only
from shoal.runtime.errors import (
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    ShoalError,
    TooLarge,
    Unavailable,
)

KINDS: dict[str, type[ShoalError]] = {
    kind.__name__: kind for kind in (Conflict, Forbidden, Invalid, NotFound, TooLarge, Unavailable)
}


class Order(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    count: int = 1
    note: Any = None


@post("/api/orders", summary="Repeat an order")
async def repeat_order(data: JSONBody[Order]) -> Order:
    return data


@get("/api/orders/{order_id:uuid}", summary="Repeat an id")
async def repeat_id(order_id: FromPath[UUID], limit: FromQuery[int] = 1) -> dict[str, str]:
    return {"id": str(order_id), "limit": str(limit)}


@get("/api/users-only", guards=[users_only], summary="Users")
async def for_users(principal: Caller) -> list[str]:
    return [principal.kind]


@get("/api/services-only", guards=[services_only], summary="Services")
async def for_services(principal: Caller) -> list[str]:
    return [principal.kind]


@get("/api/raise/{kind:str}", summary="Fail")
async def fail(kind: FromPath[str]) -> None:
    if kind in KINDS:
        raise KINDS[kind]("some_code", "What was wrong.", hint="What to do.")
    raise RuntimeError("a secret inside")


SAMPLE_ROUTES = [repeat_order, repeat_id, for_users, for_services, fail]
