"""Counting in the database, and what bare SQL does there: the reference that figures are judged by."""

import asyncio
import time
from typing import Any

import asyncpg

from bench.harness.samples import Samples

BATCH = 1000
LOOK_EVERY_S = 0.005
LOOK_AT_LEAST_EVERY_S = 0.25
PATIENCE_S = 120.0

SET_UP = """
  DROP TABLE IF EXISTS bench_reference;
  CREATE TABLE bench_reference (id bigint PRIMARY KEY, status text NOT NULL, payload jsonb NOT NULL);
  CREATE INDEX ON bench_reference (id) WHERE status = 'pending';
"""
FILL = """
  INSERT INTO bench_reference
  SELECT n, 'pending', '{"a": 1}' FROM generate_series(1, $1::bigint) AS n
"""
CLAIM = """
  UPDATE bench_reference SET status = 'claimed'
   WHERE id IN (SELECT id FROM bench_reference WHERE status = 'pending'
                 ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED)
  RETURNING id
"""
COMPLETE = "UPDATE bench_reference SET status = 'complete' WHERE id = ANY ($1)"


async def bare_sql_rows_per_s(url: str, *, rows: int, repetitions: int) -> Samples:
    """Claim and complete rows by the thousand on one connection: the most a queue could do alone."""
    connection: asyncpg.Connection[Any] = await asyncpg.connect(url)
    try:
        rates = []
        for _ in range(repetitions):
            await connection.execute(SET_UP)
            await connection.execute(FILL, rows)
            await connection.execute("VACUUM ANALYZE bench_reference")
            began = time.perf_counter()
            while claimed := await connection.fetch(CLAIM, BATCH):
                await connection.execute(COMPLETE, [row["id"] for row in claimed])
            rates.append(rows / (time.perf_counter() - began))
        await connection.execute("DROP TABLE bench_reference")
        return Samples(rates)
    finally:
        await connection.close()


async def moment_when_done(connection: "asyncpg.Connection[Any]", left: str) -> float:
    """When ``left`` counts nothing any more, on the monotonic clock; what counts is what is durable.

    Counting costs what is measured, so it looks seldom while much is left, and often at the end.
    """
    began, first = time.monotonic(), int(await connection.fetchval(left))
    while remaining := int(await connection.fetchval(left)):
        now = time.monotonic()
        if now - began > PATIENCE_S:
            raise RuntimeError(f"{remaining} of {first} were left after {PATIENCE_S:.0f} s")
        expected = (now - began) * remaining / max(first - remaining, 1)
        await asyncio.sleep(min(max(expected / 2, LOOK_EVERY_S), LOOK_AT_LEAST_EVERY_S))
    return time.monotonic()


def is_void(*, measured: float, known: float, reference: float, known_reference: float, share: float) -> bool:
    """Whether a peer did less than ``share`` of its known figure, scaled by how the reference did."""
    return measured < share * known * reference / known_reference
