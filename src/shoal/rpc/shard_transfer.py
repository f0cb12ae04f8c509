"""The service ShardTransfer: peers copy shards from this server."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from shoal.node.mesh.uploads import Uploads
from shoal.rpc.errors import Context, abort
from shoal.runtime.errors import ShoalError
from shoal.wire._generated.shard_transfer_pb2 import PieceData, ShardRequest


class ShardTransferServicer:
    def __init__(self, uploads: Uploads) -> None:
        self._uploads = uploads

    async def StreamShard(  # noqa: N802 - as in proto
        self, request: ShardRequest, context: Context
    ) -> AsyncGenerator[PieceData, None]:
        try:
            async with aclosing(self._uploads.stream(request)) as pieces:
                async for piece in pieces:
                    yield piece
        except ShoalError as error:
            await abort(context, error)
