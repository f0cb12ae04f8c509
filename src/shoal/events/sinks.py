"""The sinks that the settings ask for: Kafka is there as soon as a sentinel has its address."""

from shoal.events.settings import EventSettings
from shoal.events.store import sql
from shoal.ledger.pool import Ledger
from shoal.runtime.lifecycle import Part

KAFKA = "kafka"


class SettledSinks(Part):
    """Before the relay starts. A sink stays when its setting goes, so that what it misses is kept for it;
    ``shoal events remove kafka`` ends that."""

    name = "sinks of the settings"

    def __init__(self, ledger: Ledger, settings: EventSettings) -> None:
        self._ledger = ledger
        self._settings = settings

    async def start(self) -> None:
        if self._settings.kafka_brokers:
            patterns = list(self._settings.kafka_events)
            async with self._ledger.connection() as connection:
                await sql.add_sink.run(connection, name=KAFKA, kind="kafka", patterns=patterns, config={})
