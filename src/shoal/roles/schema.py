"""The schema of the ledger as a part: ``up`` brings it up to date, other roles insist that it is."""

from shoal.ledger.connection import connect
from shoal.ledger.migrate import migrate, require_current
from shoal.ledger.settings import LedgerSettings
from shoal.runtime.lifecycle import Part


class Schema(Part):
    name = "schema"

    def __init__(self, settings: LedgerSettings, *, may_migrate: bool) -> None:
        self._settings = settings
        self._may_migrate = may_migrate

    async def start(self) -> None:
        connection = await connect(self._settings.direct_url, application="shoal schema")
        try:
            if self._may_migrate:
                await migrate(connection)
            await require_current(connection)
        finally:
            await connection.close()
