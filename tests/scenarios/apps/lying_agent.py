"""An agent of the mesh that gives out wrong bytes, with checksums that are right for them."""

from collections.abc import AsyncGenerator

from google_crc32c import value as crc32c

from shoal.cli.main import main
from shoal.node.mesh import uploads
from shoal.wire._generated.shard_transfer_pb2 import PieceData, ShardRequest

honest = uploads.Uploads.stream


async def lying(self: uploads.Uploads, request: ShardRequest) -> AsyncGenerator[PieceData, None]:
    async for piece in honest(self, request):
        data = bytes([piece.data[0] ^ 1]) + piece.data[1:]
        yield PieceData(
            shard_id=piece.shard_id,
            piece_index=piece.piece_index,
            total_pieces=piece.total_pieces,
            data=data,
            crc32c=crc32c(data),
        )


if __name__ == "__main__":
    uploads.Uploads.stream = lying  # type: ignore[method-assign]  # this is its lie
    main()
