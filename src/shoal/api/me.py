"""``GET /api/me``: who the caller is."""

from typing import Literal
from uuid import UUID

import msgspec
from litestar import get

from shoal.api.identity import Caller
from shoal.api.openapi import problems


class Me(msgspec.Struct, frozen=True, kw_only=True):
    kind: Literal["user", "service", "worker"]
    id: UUID
    name: str


@get(
    "/api/me",
    summary="Who you are",
    tags=["Access"],
    responses=problems(401, 503),
    sync_to_thread=False,
)
def read_me(principal: Caller) -> Me:
    return Me(kind=principal.kind, id=principal.id, name=principal.name)
