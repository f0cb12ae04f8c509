"""Kafka: an idempotent producer, with the id of the aggregate as the key.

Messages of one key are in one partition of a topic, and the producer keeps their order, also when it sends
again. What was not confirmed in time is thrown away with its producer and told again from the cursor; some
of it may have arrived, and is then there twice with the same id. The first of each are in order.
"""

import asyncio
import logging
import re
import time
from collections.abc import Sequence
from functools import partial

import msgspec
from confluent_kafka import KafkaError, KafkaException, Message, Producer

from shoal.events.model import Event, Failure, Told, Turn
from shoal.events.store import view_of
from shoal.runtime.errors import Invalid

log = logging.getLogger(__name__)

POLL_S = 0.05
NEVER_TAKEN = frozenset(
    {
        KafkaError.MSG_SIZE_TOO_LARGE,
        KafkaError.INVALID_MSG,
        KafkaError.INVALID_RECORD,
        KafkaError.INVALID_MSG_SIZE,
    }
)
ABOUT_THE_PLACE = frozenset(
    {
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError.TOPIC_EXCEPTION,
    }
)
UNFIT = re.compile(r"[^a-zA-Z0-9._-]")

PENDING = Failure("away", "Kafka did not confirm it in time.")
CONFIRMED = None

Outcomes = list[Failure | None]


class Kafka:
    def __init__(self, brokers: str, *, prefix: str, options: Sequence[str]) -> None:
        self._prefix = prefix
        self._options = {
            "client.id": "shoal",
            "linger.ms": 5,
            "log_level": 3,
            **read_options(options),
            "bootstrap.servers": brokers,
            "enable.idempotence": True,
            "message.timeout.ms": 0,  # it is thrown away when its turn is over, and not before
        }
        self._producer: Producer | None = None

    async def tell(self, turns: Sequence[Turn], *, until: float) -> Sequence[Told]:
        return await asyncio.to_thread(self._tell, turns, until)

    async def close(self) -> None:
        await asyncio.to_thread(self._throw_away)

    def _tell(self, turns: Sequence[Turn], until: float) -> list[Told]:
        if self._producer is None:
            self._producer = Producer(self._options, logger=log)
        sent: list[Outcomes] = []
        for turn in turns:
            outcomes: Outcomes = []
            sent.append(outcomes)
            for event in turn.events:
                outcomes.append(PENDING)
                if not self._send(self._producer, event, outcomes, until):
                    break
        self._producer.flush(max(until - time.monotonic(), 0))
        if any(outcome is PENDING for outcomes in sent for outcome in outcomes):
            self._throw_away()
        return [told_of(outcomes) for outcomes in sent]

    def _send(self, producer: Producer, event: Event, outcomes: Outcomes, until: float) -> bool:
        """Hand one to the producer; False when the turn cannot go on."""
        at = len(outcomes) - 1
        while time.monotonic() < until:
            try:
                producer.produce(
                    topic_of(self._prefix, event.topic),
                    key=event.aggregate_id.encode(),
                    value=msgspec.json.encode(view_of(event)),
                    headers=[("id", str(event.id).encode()), ("type", event.type.encode())],
                    on_delivery=partial(_note, outcomes, at),
                )
            except BufferError:
                producer.poll(POLL_S)
            except KafkaException as error:
                outcomes[at] = failure_of(error.args[0])
                return False
            else:
                producer.poll(0)
                return True
        return False

    def _throw_away(self) -> None:
        producer, self._producer = self._producer, None
        if producer is not None:
            producer.purge()
            producer.flush(POLL_S)


def _note(outcomes: Outcomes, at: int, error: KafkaError | None, _message: Message) -> None:
    if error is None:
        outcomes[at] = CONFIRMED
    elif error.code() not in (KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT):  # noqa: SLF001 - its names
        outcomes[at] = failure_of(error)


def told_of(outcomes: Outcomes) -> Told:
    for count, outcome in enumerate(outcomes):
        if outcome is not CONFIRMED:
            return Told(count, outcome)
    return Told(len(outcomes))


def failure_of(error: KafkaError) -> Failure:
    said = f"Kafka refused it: {error.str()}"
    if error.code() in NEVER_TAKEN:
        return Failure("refused", said)
    return Failure("failed" if error.code() in ABOUT_THE_PLACE else "away", said)


def read_options(options: Sequence[str]) -> dict[str, str]:
    split = [option.partition("=") for option in options]
    if wrong := [name for name, sign, _ in split if not (name and sign)]:
        raise Invalid(
            "invalid_kafka_option",
            f"kafka_options has {wrong[0]!r}, which gives nothing a value.",
            hint="Write properties as in security.protocol=SASL_SSL.",
        )
    return {name: value for name, _, value in split}


def topic_of(prefix: str, topic: str) -> str:
    """Always below our prefix, whatever topic a user named."""
    return (prefix + UNFIT.sub("_", topic))[:249]
