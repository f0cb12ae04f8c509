"""The catalogue and what is really appended are the same."""

import re

import msgspec
import pytest

from shoal.events.catalogue import CATALOGUE
from shoal.ledger.migrate import load_migrations
from shoal.ledger.pool import Ledger
from tests.architecture.repository import PACKAGE
from tests.integration.jobs.ledger_client import LedgerClient, graph, task

IN_SQL = re.compile(r"'((?:job|task|schedule|node)\.[a-z_]+)'")
IN_PYTHON = re.compile(r'type="((?:job|task|schedule|node)\.[a-z_]+)"')

AGGREGATE = re.compile(r"append_events\(\s*'(\w+)'")

pytestmark = pytest.mark.newest_servers


def test_every_type_that_is_appended_is_listed_and_no_other() -> None:
    sql = "".join(migration.text for migration in load_migrations())
    python = "".join(file.read_text(encoding="utf-8") for file in PACKAGE.rglob("*.py"))
    assert {*IN_SQL.findall(sql), *IN_PYTHON.findall(python)} == set(CATALOGUE)
    # Whoever appends events of something else lists them, and adds their prefix above.
    assert set(AGGREGATE.findall(sql)) == {"job", "schedule", "node", "user"}


async def test_what_is_kept_without_a_listener_is_what_is_listed_as_kept(ledger: Ledger) -> None:
    async with ledger.connection() as connection:
        for name, kind in CATALOGUE.items():
            kept = await connection.fetchval("SELECT shoal.event_is_kept($1)", name)
            assert kept is kind.is_kept, name


async def test_the_payloads_of_jobs_have_the_fields_that_are_listed(ledger: Ledger) -> None:
    async with ledger.connection() as connection:
        await connection.execute("SELECT shoal.add_sink('all', 'consumer', '{*,task.*}')")
        client = LedgerClient(connection)
        done = await client.start(graph(task("one", max_attempts=2)), unique_key="k")
        await client.fail(await client.claim_one(), retry_after_s=0)
        await client.complete(await client.claim_one(), output={"n": 1})
        failed = await client.start(graph(task("one"), task("two")))
        await client.fail(await client.claim_one(), error="no", permanent=True)
        await connection.execute("SELECT cancel_job($1)", failed.id)
        await connection.execute("SELECT retry_job($1)", failed.id)
        await client.fail(*await client.claim(2), error="no", permanent=True)
        rows = await connection.fetch("SELECT event_type, aggregate_type, payload FROM event_store_t")
    assert done.id != failed.id
    seen = {row["event_type"] for row in rows}
    assert {name for name in CATALOGUE if name.startswith(("job.", "task."))} - seen == {"job.start"}
    for row in rows:
        kind = CATALOGUE[row["event_type"]]
        fields = set(row["payload"])
        assert row["aggregate_type"] == kind.aggregate
        assert set(kind.always) <= fields <= {*kind.always, *kind.perhaps}, msgspec.json.encode(
            row["payload"]
        )
