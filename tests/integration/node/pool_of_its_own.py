"""A node reduced to its pool, for a test to kill: ``python -m … FOLDER`` computes what never ends."""

import asyncio
import sys

from shoal.node.chunks import Ending
from shoal.node.pool import ChunkPool
from shoal.node.processes import Processes
from shoal.wire.fleet import HeldChunk

from .engines import REFERENCE, app, chunk


async def main() -> None:
    async def config_of(_: str) -> object:
        return {"folder": sys.argv[1]}

    def never(chunk: HeldChunk, ending: Ending) -> None:
        raise AssertionError(f"{chunk.id} ended: {ending}")

    pool = ChunkPool(
        {engine.identity: engine for engine in app.engines.values()},
        Processes([REFERENCE], niceness=5, longest_s=600),
        places=1,
        config_of=config_of,
        ended=never,
    )
    pool.take([chunk(0, "stuck")])
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
