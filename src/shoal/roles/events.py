"""The events side of a sentinel: the relay with a channel for each kind of sink, retention, the routes."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from litestar.types import ControllerRouterHandler
from prometheus_client import CollectorRegistry

from shoal.access.settings import AccessSettings
from shoal.api.event_sinks import event_sinks_router
from shoal.api.events import events_router
from shoal.events.chores import EventRetention
from shoal.events.hints import Hints
from shoal.events.measures import RelayCounts, SinkMeasures
from shoal.events.model import Sink
from shoal.events.ports import Channel
from shoal.events.relay import Relay
from shoal.events.rules import read_networks
from shoal.events.service import Events
from shoal.events.settings import EventSettings
from shoal.events.sinks import SettledSinks
from shoal.events.webhook import Webhook
from shoal.ledger.listener import Listener
from shoal.ledger.pool import Ledger
from shoal.roles.beacon import BeaconSide
from shoal.runtime.lifecycle import Part
from shoal.runtime.settings import Settings

CHANNEL = "shoal_events"


@dataclass
class EventSide:
    parts: list[Part] = field(default_factory=list)
    handlers: list[ControllerRouterHandler] = field(default_factory=list)
    before_metrics: list[Callable[[], Awaitable[None]]] = field(default_factory=list)


def event_side(
    settings: Settings,
    *,
    ledger: Ledger,
    listener: Listener,
    registry: CollectorRegistry,
    beacon: BeaconSide,
) -> EventSide:
    own = settings[EventSettings]
    networks = read_networks(own.webhook_networks)

    def open_channel(sink: Sink) -> Channel | None:
        if sink.kind == "webhook":
            url, secret = sink.config["url"], sink.secret or ""
            return Webhook(url, secret, networks=networks, timeout_s=own.webhook_timeout_s)
        if sink.kind == "kafka" and own.kafka_brokers:
            from shoal.events.kafka import Kafka  # noqa: PLC0415 - an extra, for who has a Kafka

            return Kafka(own.kafka_brokers, prefix=own.kafka_topic_prefix, options=own.kafka_options)
        if sink.kind == "beacon" and beacon.beacon is not None:
            return Hints(beacon.beacon)
        return None

    measures = SinkMeasures(ledger)
    registry.register(measures)
    events = Events(ledger, operators=settings[AccessSettings].operator_ids, webhook_networks=networks)
    relay = Relay(
        ledger,
        woken=listener.subscribe(CHANNEL),
        open_channel=open_channel,
        counts=RelayCounts(registry),
    )
    return EventSide(
        parts=[
            SettledSinks(ledger, own, has_beacon=beacon.beacon is not None),
            relay,
            EventRetention(ledger, own),
        ],
        handlers=[events_router(events), event_sinks_router(events)],
        before_metrics=[measures.refresh],
    )
