"""What owners do with their nodes. The ledger decides as the user who asks; the brain and the node follow."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec
import structlog

from shoal.brain.limits import RateLimit, admit
from shoal.fleet.directory import NodeDirectory
from shoal.fleet.grants import Grants
from shoal.fleet.looks import FleetLooks
from shoal.fleet.store import sql
from shoal.ledger.connection import Row
from shoal.ledger.pool import Ledger
from shoal.runtime.errors import Invalid, NotFound, TooOften
from shoal.wire.nodes import Access, ChangeNode, ClaimNode, NodePage, NodeState, NodeView, SetAccess

log = structlog.get_logger(__name__)

Claims = Mapping[str, object]

GUESSES = RateLimit(action="claim-node", limit=60, window_ms=60_000)
FIRST = UUID(int=0)


class NodeDesk:
    def __init__(
        self,
        ledger: Ledger,
        client: Any,
        looks: FleetLooks,
        *,
        directory: NodeDirectory,
        grants: Grants,
    ) -> None:
        self._ledger = ledger
        self._client = client
        self._looks = looks
        self._directory = directory
        self._grants = grants

    async def list_nodes(self, claims: Claims, *, after: UUID | None, page_size: int) -> NodePage:
        async with self._ledger.acting_as(claims) as connection:
            rows = await sql.list_nodes.rows(connection, after_id=after or FIRST, page_size=page_size + 1)
        nodes = await self._views(rows[:page_size])
        return NodePage(nodes=nodes, next=str(nodes[-1].id) if len(rows) > page_size else None)

    async def read(self, claims: Claims, node_id: UUID) -> NodeView:
        async with self._ledger.acting_as(claims) as connection:
            row = await sql.read_node.row(connection, node_id=node_id)
        if row is None:
            raise NotFound(
                "node_not_found",
                f"There is no node {node_id}.",
                hint="'shoal node list' shows the nodes you own.",
            )
        (view,) = await self._views([row])
        return view

    async def claim(self, claims: Claims, wish: ClaimNode) -> NodeView:
        admission = await admit(self._client, GUESSES, str(claims.get("sub", "")))
        if not admission.allowed:
            raise TooOften(
                "too_many_claims",
                "More than sixty codes a minute are guesses.",
                hint=f"Try again in {admission.retry_after_s:.0f} s.",
            )
        async with self._ledger.acting_as(claims) as connection:
            node_id = await sql.claim_node.value(
                connection, claim_code=wish.claim_code.strip().upper(), name=wish.name
            )
        await self._apply(node_id)
        return await self.read(claims, node_id)

    async def change(self, claims: Claims, node_id: UUID, wish: ChangeNode) -> NodeView:
        given = {"name": wish.name, "max_parallel": wish.max_parallel, "paused": wish.paused}
        changes = {name: value for name, value in given.items() if value is not msgspec.UNSET}
        async with self._ledger.acting_as(claims) as connection:
            await sql.change_node.run(connection, node_id=node_id, changes=changes)
        await self._apply(node_id)
        return await self.read(claims, node_id)

    async def set_access(self, claims: Claims, node_id: UUID, wish: SetAccess) -> NodeView:
        for one in wish.access:
            check_access(one)
        access = [{"access_type": one.access_type, "target_id": one.target_id} for one in wish.access]
        async with self._ledger.acting_as(claims) as connection:
            await sql.set_node_access.run(connection, node_id=node_id, access=access)
        await self._apply(node_id)
        return await self.read(claims, node_id)

    async def revoke(self, claims: Claims, node_id: UUID) -> None:
        async with self._ledger.acting_as(claims) as connection:
            await sql.revoke_node.run(connection, node_id=node_id)
        await self._apply(node_id)
        log.info("node revoked", node=str(node_id))

    async def _apply(self, node_id: UUID) -> None:
        self._directory.forget(str(node_id))
        await self._grants.apply_node(str(node_id))

    async def _views(self, rows: Sequence[Row]) -> list[NodeView]:
        ids = [str(row["id"]) for row in rows]
        heard = await self._looks.heard() if ids else {}
        backlogs = await self._looks.backlogs(ids)
        return [_view(row, heard=heard, backlog=backlogs[str(row["id"])]) for row in rows]


def check_access(one: Access) -> None:
    """Everybody has no name; a user is a UUID, a Discord server a number."""
    is_right = {
        "public": one.target_id == "",
        "user": _is_uuid(one.target_id),
        "discord": one.target_id.isascii() and one.target_id.isdigit(),
    }[one.access_type]
    if not is_right:
        raise Invalid(
            "invalid_access",
            f"{one.target_id!r} cannot be who is let in by {one.access_type!r}.",
            hint="public takes no target, user the id of a user, discord the id of a server.",
        )


def _is_uuid(text: str) -> bool:
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False


def _view(row: Row, *, heard: Mapping[str, int], backlog: int) -> NodeView:
    return NodeView(
        id=row["id"],
        name=row["name"],
        state=_state(row, is_heard=str(row["id"]) in heard),
        platform=row["platform"],
        version=row["version"],
        engines=row["engines"],
        max_parallel=row["max_parallel"],
        paused=row["paused"],
        access=msgspec.convert(row["access"], list[Access]),
        backlog=backlog,
        public_key=row["public_key"].hex(),
        created_at=row["created_at"],
        claimed_at=row["claimed_at"],
        last_seen_at=row["last_seen_at"],
    )


def _state(row: Row, *, is_heard: bool) -> NodeState:
    if row["revoked_at"] is not None:
        return "revoked"
    if row["paused"]:
        return "paused"
    return "online" if is_heard else "offline"
