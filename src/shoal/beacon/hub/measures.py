"""The hub in numbers, for Prometheus: read off when somebody asks. A Centrifugo has its own."""

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from shoal.beacon.hub.hub import Hub


class HubMeasures(Collector):
    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def collect(self) -> Iterator[Metric]:
        connections = GaugeMetricFamily("sentinel_hub_connections", "Clients that are connected.")
        subscriptions = GaugeMetricFamily("sentinel_hub_subscriptions", "Channels of all these clients.")
        messages = CounterMetricFamily("sentinel_hub_messages", "Messages published to channels.")
        connections.add_metric([], self._hub.connections)
        subscriptions.add_metric([], self._hub.subscriptions)
        messages.add_metric([], self._hub.published)
        yield from (connections, subscriptions, messages)
