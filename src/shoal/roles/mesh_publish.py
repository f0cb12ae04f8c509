"""What ``shoal mesh publish`` does: a folder into the vault, and its name into the ledger."""

from collections.abc import Callable
from pathlib import Path

from shoal.ledger.pool import Ledger
from shoal.ledger.settings import LedgerSettings
from shoal.mesh.publishing import Published, publish_folder
from shoal.mesh.service import sql
from shoal.runtime.settings import Settings
from shoal.vault.settings import VaultSettings
from shoal.vault.store import open_vault


async def publish(
    settings: Settings,
    folder: Path,
    *,
    name: str,
    shard_size: int,
    on_progress: Callable[[int, int], None],
) -> Published:
    ledger = Ledger(settings[LedgerSettings], application="shoal mesh publish")
    await ledger.start()
    try:
        published = await publish_folder(
            open_vault(settings[VaultSettings]),
            folder,
            name=name,
            shard_size=shard_size,
            on_progress=on_progress,
        )
        async with ledger.connection() as connection:
            await sql.store_data_set.run(
                connection,
                id=published.id,
                name=name,
                size_bytes=published.data_set.size,
                shards=len(published.data_set.shards),
                files=len(published.data_set.files),
            )
        return published
    finally:
        await ledger.stop()
