"""The routes of owners: their nodes, and configs."""

from typing import Annotated, Any
from uuid import UUID

from litestar import Router, delete, get, patch, post, put
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath, JSONBody, QueryParameter

from shoal.api.identity import Caller, users_only
from shoal.api.openapi import problems
from shoal.fleet.configs import LARGEST, Configs
from shoal.fleet.owners import NodeDesk
from shoal.wire.nodes import ChangeNode, ClaimNode, NodePage, NodeView, SetAccess, StoredConfig

Limit = Annotated[int, QueryParameter(ge=1, le=1000)]


def nodes_router(nodes: NodeDesk) -> Router:
    @get(
        "/",
        summary="List your nodes",
        description="In the order in which they came. Pass `next` of one page as `cursor` to get the next.",
        responses=problems(400, 401, 403, 503),
    )
    async def list_nodes(
        principal: Caller, cursor: Annotated[UUID | None, QueryParameter()] = None, limit: Limit = 100
    ) -> NodePage:
        return await nodes.list_nodes(principal.claims, after=cursor, page_size=limit)

    @get("/{node_id:uuid}", summary="Read a node", responses=problems(400, 401, 403, 404, 503))
    async def read_node(node_id: FromPath[UUID], principal: Caller) -> NodeView:
        return await nodes.read(principal.claims, node_id)

    @post(
        "/claim",
        status_code=200,
        summary="Claim a node",
        description="The node shows its code when it starts. A code works once, and you own the node.",
        guards=[users_only],
        responses=problems(400, 401, 403, 404, 429, 503),
    )
    async def claim_node(data: JSONBody[ClaimNode], principal: Caller) -> NodeView:
        return await nodes.claim(principal.claims, data)

    @patch(
        "/{node_id:uuid}",
        summary="Rename, limit or pause a node",
        description="What is left out stays; `maxParallel` null takes the limit away.",
        responses=problems(400, 401, 403, 404, 503),
    )
    async def change_node(node_id: FromPath[UUID], data: JSONBody[ChangeNode], principal: Caller) -> NodeView:
        return await nodes.change(principal.claims, node_id, data)

    @put(
        "/{node_id:uuid}/access",
        summary="Say whose jobs a node runs",
        description="Besides yours. An empty list is yours alone.",
        responses=problems(400, 401, 403, 404, 503),
    )
    async def set_node_access(
        node_id: FromPath[UUID], data: JSONBody[SetAccess], principal: Caller
    ) -> NodeView:
        return await nodes.set_access(principal.claims, node_id, data)

    @delete(
        "/{node_id:uuid}",
        summary="Revoke a node",
        description="For good: it is cut at once, and its key is never let in again.",
        responses=problems(400, 401, 403, 404, 503),
    )
    async def revoke_node(node_id: FromPath[UUID], principal: Caller) -> None:
        await nodes.revoke(principal.claims, node_id)

    return Router(
        "/api/nodes",
        route_handlers=[list_nodes, read_node, claim_node, change_node, set_node_access, revoke_node],
        tags=["Nodes"],
    )


def configs_handler(configs: Configs) -> HTTPRouteHandler:
    @put(
        "/api/configs",
        request_max_body_size=2 * LARGEST,
        summary="Store a config",
        description="Any JSON value of up to 512 KiB, as it is written with its names sorted. It is kept "
        "under the SHA-256 of that, so storing it again changes nothing.",
        tags=["Nodes"],
        responses=problems(400, 401, 403, 413, 415, 429, 503),
    )
    async def store_config(data: JSONBody[Any], principal: Caller) -> StoredConfig:
        found, size = await configs.store(data, claims=principal.claims)
        return StoredConfig(hash=found, size=size)

    return store_config
