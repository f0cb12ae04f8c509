"""The routes for nodes. Each request is signed with the key of the node that sends it."""

from typing import Annotated, Any

from litestar import MediaType, Request, Response, get, post
from litestar.handlers import HTTPRouteHandler
from litestar.params import PathParameter

from shoal.api.openapi import problems
from shoal.beacon.settings import websocket_url
from shoal.fleet.channel import FleetDesk
from shoal.fleet.door import Knock, NodeDoor
from shoal.wire.fleet import NodeToken, Registered

LARGEST_BODY = 16 * 1024

AnyRequest = Request[Any, Any, Any]
SIGNED: list[dict[str, list[str]]] = [{"node": []}]


def node_door_handlers(
    door: NodeDoor, desk: FleetDesk, *, client_url: str, public_url: str, address_header: str
) -> list[HTTPRouteHandler]:
    """``client_url`` is empty for the hub, which is found where the node found this API."""

    async def knock(request: AnyRequest) -> Knock:
        return Knock(
            method=request.method,
            host=request.headers.get("host", "").lower(),
            path=_path_as_sent(request),
            query=request.scope["query_string"].decode("latin-1"),
            headers={name.lower(): value for name, value in request.headers.items()},
            body=await request.body(),
            address=_address(request, address_header),
        )

    @post(
        "/nodes/register",
        status_code=200,
        request_max_body_size=LARGEST_BODY,
        summary="Register a node",
        description="The same key is the same node. Whoever enters its claim code owns it. The body may say "
        "`name`, `platform` and `version`; or it carries the signature, as `pubkey`, `signature`, "
        "`timestamp` and `nonce`, and nothing else.",
        tags=["Nodes"],
        security=SIGNED,
        responses=problems(400, 401, 403, 413, 429, 503),
    )
    async def register_node(request: AnyRequest) -> Registered:
        return await door.register(await knock(request))

    @post(
        "/nodes/token",
        status_code=200,
        request_max_body_size=LARGEST_BODY,
        summary="Get a token for the beacon, as a node",
        description="Connect to `url` with `jwt`, and ask here for another one before `expires_at`. The body "
        "is empty, or carries the signature.",
        tags=["Nodes"],
        security=SIGNED,
        responses=problems(400, 401, 403, 413, 429, 503),
    )
    async def issue_node_token(request: AnyRequest) -> NodeToken:
        url = client_url or websocket_url(public_url or str(request.base_url))
        return await door.issue_token(await knock(request), url=url)

    @get(
        "/config/{config_hash:str}",
        media_type=MediaType.JSON,
        summary="Read a config, as a node",
        description="The bytes whose SHA-256 is the hash: of a chunk that the node holds now.",
        tags=["Nodes"],
        security=SIGNED,
        responses=problems(400, 401, 403, 404, 503),
    )
    async def read_config(
        request: AnyRequest,
        config_hash: Annotated[str, PathParameter(pattern="^[0-9a-f]{64}$")],
    ) -> Response[bytes]:
        node_id = await door.node_behind(await knock(request))
        return Response(await desk.config_of(node_id, config_hash), media_type=MediaType.JSON)

    return [register_node, issue_node_token, read_config]


def _path_as_sent(request: AnyRequest) -> str:
    raw = request.scope.get("raw_path") or request.scope["path"].encode()
    return raw.partition(b"?")[0].decode("latin-1")


def _address(request: AnyRequest, header: str) -> str:
    if header and (told := request.headers.get(header)):
        return told.rpartition(",")[2].strip()
    return request.client.host if request.client is not None else ""
