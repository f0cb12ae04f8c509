"""``shoal down``: end the ``up`` of a data directory, or what a killed one left behind."""

import asyncio
import os
import signal

from shoal.local.directory import DataDirectory, LocalSettings
from shoal.local.servers import stop_leftovers
from shoal.roles.config import RoleSettings
from shoal.runtime.errors import Unavailable
from shoal.runtime.settings import Settings

MARGIN_S = 15.0
LOOK_EVERY_S = 0.05


async def stop_up(settings: Settings) -> list[str]:
    """Returns what was stopped, in words. Waits until it has ended."""
    directory = DataDirectory(settings[LocalSettings].data_dir)
    holder = directory.holder()
    if holder is None:
        return await stop_leftovers(directory)
    os.kill(holder.pid, signal.SIGTERM)
    try:
        async with asyncio.timeout(settings[RoleSettings].grace_period_s + MARGIN_S):
            # A lock of another process: there is nothing to wait for but the look of it.
            while (now := directory.holder()) is not None and now.pid == holder.pid:  # noqa: ASYNC110
                await asyncio.sleep(LOOK_EVERY_S)
    except TimeoutError:
        raise Unavailable(
            "up_does_not_end",
            f"'shoal up' (process {holder.pid}) has not ended.",
            hint=f"Look at {directory.logs}; as a last resort: kill -9 {holder.pid}, then 'shoal down'.",
        ) from None
    return [f"shoal up (process {holder.pid})"]
