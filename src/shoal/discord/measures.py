"""The bot and its filters in numbers, for Prometheus: read off when somebody asks."""

from collections.abc import Callable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from shoal.discord.filters import Filters
from shoal.discord.memberships import Memberships


class DiscordMeasures(Collector):
    def __init__(
        self, filters: Filters, memberships: Memberships, *, is_connected: Callable[[], bool]
    ) -> None:
        self._filters = filters
        self._memberships = memberships
        self._is_connected = is_connected

    def collect(self) -> Iterator[Metric]:
        connected = GaugeMetricFamily(
            "sentinel_discord_connected", "1 in the process that runs the bot, while it is connected."
        )
        guilds = GaugeMetricFamily("sentinel_discord_guilds", "Discord servers that have a filter here.")
        members = GaugeMetricFamily("sentinel_discord_members", "Members that are in these filters.")
        confirmed = CounterMetricFamily(
            "sentinel_discord_confirmations",
            "Hits in filters by how they were answered: member, stranger, or unknown.",
            labels=["answer"],
        )
        connected.add_metric([], float(self._is_connected()))
        guilds.add_metric([], len(self._filters.members))
        members.add_metric([], sum(self._filters.members.values()))
        for answer, count in self._memberships.answers.items():
            confirmed.add_metric([answer], count)
        yield from (connected, guilds, members, confirmed)
