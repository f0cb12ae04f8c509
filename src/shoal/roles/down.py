"""``shoal down``: end the ``up`` of a data directory, or what a killed one left behind."""

import signal
from contextlib import suppress

import psutil

from shoal.local.directory import DataDirectory, LocalSettings
from shoal.local.processes import wait_for_end
from shoal.local.servers import stop_leftovers
from shoal.roles.config import RoleSettings
from shoal.runtime.errors import Unavailable
from shoal.runtime.settings import Settings

MARGIN_S = 15.0


async def stop_up(settings: Settings) -> list[str]:
    """Returns what was stopped, in words, once it has ended."""
    directory = DataDirectory(settings[LocalSettings].data_dir)
    holder = directory.holder()
    if holder is None:
        return await stop_leftovers(directory)
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(holder.pid)
        process.send_signal(signal.SIGTERM)
        if not await wait_for_end([process], settings[RoleSettings].grace_period_s + MARGIN_S):
            raise Unavailable(
                "up_does_not_end",
                f"'shoal up' (process {holder.pid}) has not ended.",
                hint=f"Look at {directory.logs}; as a last resort: kill -9 {holder.pid}, then 'shoal down'.",
            )
    return [f"shoal up (process {holder.pid})"]
