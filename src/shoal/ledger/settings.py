"""Where the ledger is, and how many connections one process may open to it."""

from typing import Annotated

import msgspec

from shoal.runtime.settings import SECRET


class LedgerSettings(msgspec.Struct, frozen=True, kw_only=True):
    database_url: Annotated[
        str,
        msgspec.Meta(
            description="PostgreSQL 15 or newer, as in postgresql://user@host/name; may be a pooler.",
            extra=SECRET,
        ),
    ] = ""
    database_direct_url: Annotated[
        str,
        msgspec.Meta(
            description="The same database without a transaction pooler in between, for LISTEN, heartbeats "
            "and migrations. Empty means there is no other way than database_url.",
            extra=SECRET,
        ),
    ] = ""
    database_pool_size: Annotated[
        int, msgspec.Meta(description="Connections one process opens at most.", ge=1)
    ] = 10

    @property
    def direct_url(self) -> str:
        return self.database_direct_url or self.database_url
