"""Where events go by the settings alone, and how long they are kept."""

from typing import Annotated

import msgspec

from shoal.runtime.settings import SECRET


class EventSettings(msgspec.Struct, frozen=True, kw_only=True):
    keep_events_days: Annotated[
        float,
        msgspec.Meta(
            ge=0.01,
            le=36500,
            description="For how long events are kept, told or not, with their dead letters.",
        ),
    ] = 30.0
    kafka_brokers: Annotated[
        str,
        msgspec.Meta(
            description="Where Kafka is, as in kafka-1:9092,kafka-2:9092. Empty: events do not go to Kafka."
        ),
    ] = ""
    kafka_events: Annotated[
        tuple[str, ...],
        msgspec.Meta(
            min_length=1,
            description="Which events go to Kafka: types, job.* for many, * for all but task.*.",
        ),
    ] = ("*",)
    kafka_topic_prefix: Annotated[
        str,
        msgspec.Meta(
            pattern=r"^[a-zA-Z0-9._-]{1,100}$",
            description="What the names of our topics begin with; the topic of the event follows. Users name "
            "topics of their own events, so the prefix must not be that of anybody else's topics.",
        ),
    ] = "shoal."
    kafka_options: Annotated[
        tuple[str, ...],
        msgspec.Meta(
            description="Further properties of librdkafka, as in security.protocol=SASL_SSL.",
            extra=SECRET,
        ),
    ] = ()
    beacon_events: Annotated[
        tuple[str, ...],
        msgspec.Meta(
            description="Which events are also hints to whoever listens to events:{user}; empty for none."
        ),
    ] = ()
    webhook_networks: Annotated[
        tuple[str, ...],
        msgspec.Meta(
            description="Networks that webhooks may reach besides the public Internet, as in 10.1.0.0/16; to "
            "those also without TLS."
        ),
    ] = ()
    webhook_timeout_s: Annotated[
        float, msgspec.Meta(gt=0, le=25, description="How long a webhook may take to answer.")
    ] = 10.0
