"""Nodes as others than their owners may know of them: those open to a Discord server, and how many."""

from uuid import UUID

import msgspec

from shoal.fleet.looks import FleetLooks
from shoal.fleet.store import sql
from shoal.ledger.pool import Ledger


class OpenNode(msgspec.Struct, frozen=True, kw_only=True):
    owner: UUID
    name: str
    max_parallel: int | None
    paused: bool
    is_heard: bool
    backlog: int


class NodeCounts(msgspec.Struct, frozen=True, kw_only=True):
    """How many belong to somebody, how many of all were heard lately, and what these hold."""

    claimed: int
    heard: int
    chunks: int


class OpenNodes:
    def __init__(self, ledger: Ledger, looks: FleetLooks) -> None:
        self._ledger = ledger
        self._looks = looks

    async def open_to_guild(self, guild: str) -> list[OpenNode]:
        async with self._ledger.connection() as connection:
            rows = await sql.list_nodes_open_to_guild.rows(connection, guild=guild)
        ids = [str(row["id"]) for row in rows]
        heard = await self._looks.heard() if ids else {}
        backlogs = await self._looks.backlogs(ids)
        return [
            OpenNode(
                owner=row["user_id"],
                name=row["name"],
                max_parallel=row["max_parallel"],
                paused=row["paused"],
                is_heard=str(row["id"]) in heard,
                backlog=backlogs[str(row["id"])],
            )
            for row in rows
        ]

    async def count(self) -> NodeCounts:
        async with self._ledger.connection() as connection:
            claimed = await sql.count_claimed_nodes.value(connection)
        heard = list(await self._looks.heard())
        return NodeCounts(
            claimed=claimed, heard=len(heard), chunks=sum((await self._looks.backlogs(heard)).values())
        )
