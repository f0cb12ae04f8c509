"""The two servers of a data directory, and what is done to both of them."""

from shoal.local.directory import DataDirectory
from shoal.local.postgres import EmbeddedPostgres
from shoal.local.valkey import EmbeddedValkey


def servers_of(directory: DataDirectory) -> tuple[EmbeddedPostgres, EmbeddedValkey]:
    """The servers as every process makes them, so that each can adopt what another launched."""
    postgres = EmbeddedPostgres(
        directory.postgres, sockets=directory.sockets, log_file=directory.logs / "postgres.log"
    )
    valkey = EmbeddedValkey(
        directory.valkey, sockets=directory.sockets, log_file=directory.logs / "valkey.log"
    )
    return postgres, valkey


async def stop_leftovers(directory: DataDirectory) -> list[str]:
    """Stop the servers of an ``up`` that was killed; what was stopped, in words.

    Conflict ``data_dir_in_use`` if a living process holds the directory: then they are in use.
    """
    if not directory.is_prepared:
        return []
    hold = directory.hold(url="")
    try:
        stopped = []
        for server in servers_of(directory):
            pid = await server.stop_leftover()
            if pid is not None:
                stopped.append(f"{server.title} (process {pid})")
        return stopped
    finally:
        hold.release()
