"""The sinks that the settings ask for: Kafka and the beacon."""

from shoal.events.settings import EventSettings
from shoal.events.store import sql
from shoal.ledger.pool import Ledger
from shoal.runtime.lifecycle import Part

KAFKA = "kafka"
BEACON = "beacon"


class SettledSinks(Part):
    """Before the relay starts. A sink stays when its setting goes, so that what it misses is kept for it;
    ``shoal events remove kafka`` ends that."""

    name = "sinks of the settings"

    def __init__(self, ledger: Ledger, settings: EventSettings, *, has_beacon: bool) -> None:
        self._has_beacon = has_beacon
        self._ledger = ledger
        self._settings = settings

    async def start(self) -> None:
        wanted = {
            KAFKA: self._settings.kafka_events if self._settings.kafka_brokers else (),
            BEACON: self._settings.beacon_events if self._has_beacon else (),
        }
        for kind, patterns in wanted.items():
            if patterns:
                async with self._ledger.connection() as connection:
                    await sql.add_sink.run(
                        connection, name=kind, kind=kind, patterns=list(patterns), config={}
                    )
