"""Who may come: the roles of the database, with the claims that PostgREST and our API set for them."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import msgspec

from shoal.ledger.connection import Connection

from .world import ANN, BOB

OUTSIDER = "outsider"
"""A role that was granted nothing: what it may do, PUBLIC may."""

BECOME = "SELECT set_config('role', $1, true), set_config('request.jwt.claims', $2, true)"


@dataclass(frozen=True)
class Actor:
    name: str
    role: str
    claims: Mapping[str, str]


def actor(name: str, role: str, **claims: str) -> Actor:
    return Actor(name, role, {"role": role, **claims})


STRANGER = actor("stranger", "authenticated", sub=str(BOB))
NAMELESS = actor("nameless", "authenticated")

ACTORS = (
    actor("anon", "anon"),
    actor("owner", "authenticated", sub=str(ANN)),
    STRANGER,
    NAMELESS,
    actor("service", "service_role"),
    actor("worker", "shoal_worker"),
    actor("outsider", OUTSIDER),
)


@asynccontextmanager
async def undone(connection: Connection) -> AsyncIterator[None]:
    """Whatever is done inside has not happened afterwards."""
    transaction = connection.transaction()
    await transaction.start()
    try:
        yield
    finally:
        await transaction.rollback()


async def become(connection: Connection, actor: Actor) -> None:
    await connection.execute(BECOME, actor.role, msgspec.json.encode(actor.claims).decode())
