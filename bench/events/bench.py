"""Events per second: appended, ordered, and told to each kind of sink, beside bare COPY and a bare producer.

What is told goes through the relay as a sentinel runs it, from a full outbox to the last cursor at its end.
The bare sides do nothing but send the same messages: no cursors, no order over processes, no retries.
"""

import asyncio
import time
import uuid
from collections.abc import Awaitable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import ClientSession, web
from confluent_kafka import Producer

from bench.harness.samples import Samples
from bench.harness.servers import bench_folder, embedded_postgres
from bench.harness.table import say, say_ratio, say_samples, say_settings
from shoal.ledger.connection import connect
from shoal.ledger.listener import Listener
from shoal.ledger.migrate import migrate
from shoal.ledger.pool import Ledger
from shoal.ledger.settings import LedgerSettings
from shoal.roles.beacon import BeaconSide
from shoal.roles.config import SECTIONS
from shoal.roles.events import event_side
from shoal.runtime.lifecycle import run_parts
from shoal.runtime.logs import LogSettings, configure_logs
from shoal.runtime.metrics import new_registry
from shoal.runtime.settings import read_settings
from tests.support.kafka_broker import KafkaBroker, fetch

APPEND = """
SELECT shoal.append_events('thing', array_agg('thing-' || n % 1000), array_agg('thing.done'::text),
         array_agg('{"v": 1, "note": "what a job says about itself", "n": 7}'::jsonb))
  FROM generate_series(1, 1000) AS n
"""
BARE = """
CREATE TABLE bare (event_id uuid PRIMARY KEY, aggregate_id text, event_type text, payload text,
                   occurred_at timestamptz, seq bigint);
CREATE INDEX ON bare (seq);
"""
SAYS = '{"v": 1, "note": "what a job says about itself", "n": 7}'
LEFT = """
SELECT (SELECT count(*) FROM outbox_message_t WHERE position IS NULL)
     + (SELECT sum(p.last_position - k.position) FROM consumer_offset_t k
          JOIN outbox_partition_t p USING (partition) WHERE k.sink = $1)
"""
AT_ONCE = 1000

Connection = Any


def measure(*, quick: bool) -> dict[str, float]:
    configure_logs(LogSettings(log_level="error"))
    fetch()
    events, posts, repetitions = (20_000, 2_000, 2) if quick else (50_000, 5_000, 3)
    say_settings(
        {"events": f"{events:,} of 1,000 aggregates; {posts:,} for webhooks", "repetitions": repetitions}
    )
    return asyncio.run(Bench(events, posts, repetitions).run())


class Bench:
    def __init__(self, events: int, posts: int, repetitions: int) -> None:
        self._events, self._posts, self._repetitions = events, posts, repetitions
        self._seen: dict[str, list[float]] = {}
        self._figures: dict[str, float] = {}

    async def run(self) -> dict[str, float]:
        with bench_folder() as folder:
            async with embedded_postgres(folder) as postgres, AsyncExitStack() as stack:
                self._url = postgres.url
                self._connection: Connection = await connect(self._url, application="bench")
                stack.push_async_callback(self._connection.close)
                await migrate(self._connection)
                await self._connection.execute(BARE)
                broker = KafkaBroker(Path(folder))
                await asyncio.to_thread(broker.start)
                stack.push_async_callback(asyncio.to_thread, broker.stop)
                hook = await stack.enter_async_context(Receiver())
                for _ in range(self._repetitions):
                    await self._round(broker, hook)
        self._say()
        return self._figures

    async def _round(self, broker: KafkaBroker, hook: str) -> None:
        connection = self._connection
        await self._empty()
        await self._timed("append, nobody asks", self._events, self._append(self._events))
        await self._timed("bare COPY", self._events, self._copy())
        await self._empty()
        await connection.execute("SELECT shoal.add_sink('reader', 'consumer', '{thing.*}')")
        await self._timed("append, one asks", self._events, self._append(self._events))
        await self._timed("order", self._events, self._order())
        await self._timed("consumer in the database", self._events, self._consume())
        await self._empty()
        await connection.execute("SELECT shoal.add_sink('kafka', 'kafka', '{thing.*}')")
        await self._append(self._events)
        await self._relay(
            "kafka", "kafka", self._events, kafka_brokers=broker.address, kafka_events=("thing.*",)
        )
        await self._timed("bare producer", self._events, asyncio.to_thread(self._produce, broker.address))
        await self._empty()
        name = await connection.fetchval("SELECT name FROM add_webhook($1, '{thing.*}')", hook)
        await self._append(self._posts)
        await self._relay("webhook", name, self._posts, webhook_networks=("127.0.0.0/8",))
        await self._timed("bare POST", self._posts, self._post(hook))

    async def _empty(self) -> None:
        await self._connection.execute("TRUNCATE event_store_t, outbox_message_t, bare")
        await self._connection.execute("DELETE FROM event_sink_t WHERE kind <> 'jobs'")
        await self._connection.execute("VACUUM")

    async def _timed(self, name: str, count: int, doing: Awaitable[Any]) -> None:
        began = time.perf_counter()
        await doing
        self._seen.setdefault(name, []).append(count / (time.perf_counter() - began))

    async def _append(self, count: int) -> None:
        for _ in range(count // AT_ONCE):
            await self._connection.execute(APPEND)

    async def _copy(self) -> None:
        now = await self._connection.fetchval("SELECT clock_timestamp()")
        for at in range(0, self._events, AT_ONCE):
            rows = [(uuid.uuid4(), "thing-1", "thing.done", SAYS, now, at + n) for n in range(AT_ONCE)]
            await self._connection.copy_records_to_table("bare", records=rows)

    async def _order(self) -> None:
        while await self._connection.fetchval("SELECT shoal.order_outbox()"):
            pass

    async def _consume(self) -> None:
        """What a consumer does when its handler does nothing."""
        take = "SELECT partition, up_to, event_id FROM shoal.take_events('reader', $1, 30, 16, 200)"
        advance = "SELECT * FROM shoal.advance_cursors('reader', $1, $2, $3, true)"
        while True:
            token = uuid.uuid4()
            rows = await self._connection.fetch(take, token)
            if not rows:
                return
            ends = {row["partition"]: row["up_to"] for row in rows}
            await self._connection.fetch(advance, token, list(ends), list(ends.values()))

    async def _relay(self, name: str, sink: str, count: int, **given: object) -> None:
        settings = read_settings(SECTIONS, flags={"database_url": self._url, **given}, environ={})
        ledger, listener = Ledger(settings[LedgerSettings]), Listener(settings[LedgerSettings])
        side = event_side(
            settings, ledger=ledger, listener=listener, registry=new_registry(), beacon=BeaconSide()
        )
        ending = asyncio.Event()
        began = time.perf_counter()
        running = asyncio.create_task(run_parts([ledger, listener, *side.parts], grace_s=10, until=ending))
        while await self._connection.fetchval(LEFT, sink):  # noqa: ASYNC110 - the ledger tells nobody
            await asyncio.sleep(0.02)
        self._seen.setdefault(name, []).append(count / (time.perf_counter() - began))
        ending.set()
        await running

    def _produce(self, address: str) -> None:
        producer = Producer({"bootstrap.servers": address, "enable.idempotence": True, "linger.ms": 5})
        for number in range(self._events):
            while True:
                try:
                    producer.produce("bare", key=f"thing-{number % 1000}", value=message(number))
                    break
                except BufferError:
                    producer.poll(0.05)
            producer.poll(0)
        producer.flush()

    async def _post(self, url: str) -> None:
        async with ClientSession() as session:
            room = asyncio.Semaphore(8)

            async def one(number: int) -> None:
                async with room, session.post(url, data=message(number)):
                    pass

            await asyncio.gather(*(one(number) for number in range(self._posts)))

    def _say(self) -> None:
        seen = {name: Samples(rates) for name, rates in self._seen.items()}
        say_samples([(name, of, "events/s") for name, of in seen.items()])
        for figure, ours, bare in (
            ("append_vs_copy", "append, nobody asks", "bare COPY"),
            ("consumer_vs_copy", "consumer in the database", "bare COPY"),
            ("kafka_vs_producer", "kafka", "bare producer"),
            ("webhook_vs_post", "webhook", "bare POST"),
        ):
            self._figures[figure] = round(say_ratio(figure, (ours, seen[ours]), (bare, seen[bare])), 3)
        for name in ("kafka", "webhook", "consumer in the database", "order"):
            self._figures[f"{name.split()[0]}_per_s"] = seen[name].figure
        say()


def message(number: int) -> bytes:
    said = {
        "id": str(uuid.uuid4()),
        "type": "thing.done",
        "topic": "thing",
        "aggregateType": "thing",
        "aggregateId": f"thing-{number % 1000}",
        "aggregateVersion": None,
        "userId": None,
        "occurredAt": "2030-01-31T09:00:00.123456Z",
        "payload": {"v": 1, "note": "what a job says about itself", "n": 7},
    }
    return msgspec.json.encode(said)


class Receiver:
    async def __aenter__(self) -> str:
        async def take(request: web.Request) -> web.Response:
            await request.read()
            return web.Response(status=204)

        app = web.Application()
        app.router.add_post("/", take)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        return f"http://127.0.0.1:{self._runner.addresses[0][1]}/"

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()
