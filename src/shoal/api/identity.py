"""Who is asking, for handlers: the guard that lets nobody else in, and the principal it found."""

from collections.abc import Awaitable, Callable, Collection
from typing import Any
from uuid import UUID

from litestar.connection import ASGIConnection
from litestar.di import NamedDependency
from litestar.handlers import BaseRouteHandler
from litestar.types import Scope

from shoal.access.model import Principal
from shoal.access.service import Access
from shoal.runtime.errors import Forbidden, Unauthenticated

AnyConnection = ASGIConnection[Any, Any, Any, Any]
Caller = NamedDependency[Principal]
"""``principal: Caller`` in a handler is whoever is asking."""

Guard = Callable[[AnyConnection, BaseRouteHandler], Awaitable[None]]


def authenticated(access: Access) -> Guard:
    """A guard that knows who is asking before anything of the request is read."""

    async def authenticate(connection: AnyConnection, _: BaseRouteHandler) -> None:
        given = connection.headers.getall("authorization", [])
        if len(given) > 1:
            raise Unauthenticated("token_invalid", "There is more than one Authorization header.")
        header = given[0] if given else None
        connection.scope["user"] = await access.authenticate(header)

    return authenticate


def provide_principal(scope: Scope) -> Principal:
    """What a handler behind the guard gets as ``principal``."""
    principal: Principal = scope["user"]
    return principal


async def users_only(connection: AnyConnection, _: BaseRouteHandler) -> None:
    if connection.scope["user"].kind != "user":
        raise Forbidden(
            "users_only",
            "Only a user may do this.",
            hint="Use a user's token instead of a key.",
        )


async def services_only(connection: AnyConnection, _: BaseRouteHandler) -> None:
    if connection.scope["user"].kind != "service":
        raise Forbidden(
            "services_only",
            "Only a service may do this.",
            hint="Use a service's key; 'shoal key issue --kind service NAME' makes one.",
        )


def operators_only(operators: Collection[UUID]) -> Guard:
    """A guard that lets services in, and the users who run this installation."""

    async def check(connection: AnyConnection, _: BaseRouteHandler) -> None:
        asking: Principal = connection.scope["user"]
        if asking.kind != "service" and not (asking.kind == "user" and asking.id in operators):
            raise Forbidden(
                "operators_only",
                "Only a service or an operator may do this.",
                hint="Use a service's key, or name the user in SHOAL_OPERATOR_IDS.",
            )

    return check
