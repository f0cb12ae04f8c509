"""The routes of the mesh, for operators: the servers are theirs."""

from collections.abc import Collection
from uuid import UUID

from litestar import Router, get, post
from litestar.params import JSONBody

from shoal.api.identity import Caller, operators_only
from shoal.api.openapi import problems
from shoal.mesh.service import MeshDesk
from shoal.runtime.errors import Invalid
from shoal.wire.mesh import DataSets, MeshView, PushDataSet, Pushed


def mesh_router(desk: MeshDesk, *, operators: Collection[UUID]) -> Router:
    @get(
        "/",
        summary="Look at the mesh",
        description="The servers, what each has of the data set that is pushed, and what it copies now.",
        responses=problems(401, 403, 503),
    )
    async def read_mesh() -> MeshView:
        return await desk.look()

    @get(
        "/data-sets",
        summary="List data sets",
        description="The last published first. Of a name, the last one is pushed.",
        responses=problems(401, 403, 503),
    )
    async def list_data_sets() -> DataSets:
        return await desk.list_data_sets()

    @post(
        "/push",
        summary="Push a data set to servers",
        description="Starts a job that ends when all servers that are there have it. `to` names labels or "
        "ids; empty is all of them. A service says for which user.",
        responses=problems(400, 401, 403, 404, 413, 415, 503),
    )
    async def push_data_set(data: JSONBody[PushDataSet], principal: Caller) -> Pushed:
        user_id = data.user_id or (principal.id if principal.kind == "user" else None)
        if user_id is None:
            raise Invalid("user_missing", "A service says for which user it pushes.", hint="Add userId.")
        return await desk.push(user_id, data)

    return Router(
        "/api/mesh",
        route_handlers=[read_mesh, list_data_sets, push_data_set],
        guards=[operators_only(operators)],
        tags=["Mesh"],
    )
