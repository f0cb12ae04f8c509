"""A database in which every table has rows of Ann, of Carol and of nobody, so that a wrong look shows."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from shoal.ledger.connection import Connection
from tests.integration.jobs.ledger_client import LedgerClient, graph, task

ANN = UUID("00000000-0000-4000-8000-00000000000a")
BOB = UUID("00000000-0000-4000-8000-00000000000b")
CAROL = UUID("00000000-0000-4000-8000-00000000000c")

SECRET_OF_ANN = "a secret of Ann"
IDEMPOTENCY_KEY = "once"
UNIQUE_KEY = "mine"

RELATIONS = """
SELECT n.nspname || '.' || c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname !~ '^pg_|^information_schema$' ORDER BY 1
"""

# What belongs to everybody or to nobody.
COMMON = """
INSERT INTO access_keys (name, kind, secret_hash) VALUES ('ci', 'service', sha256('x'));
SELECT limit_task_type('rare', 1);
INSERT INTO shoal.chores VALUES ('sweep', clock_timestamp());
INSERT INTO shoal.vault_quota DEFAULT VALUES;
SELECT shoal.elect_scheduler('it', 1);
SELECT shoal.add_sink('all', 'beacon', '{*}');
INSERT INTO discord_server_filters (guild_id, member_count, filter) VALUES ('1', 0, '');
INSERT INTO data_sets (id, name, size_bytes, shards, files) VALUES (repeat('0', 64), 'model', 1, 1, 1);
"""

LINK = "INSERT INTO discord_links (discord_id, user_id, discord_name) VALUES ($1, $2, $3)"
LINK_CODE = "INSERT INTO discord_link_codes VALUES ($1, sha256($2::text::bytea), clock_timestamp())"

Rows = Mapping[str, set[str]]
"""Of each table or view its rows, each as text."""


@dataclass(frozen=True)
class World:
    job_of_ann: UUID
    task_of_ann: UUID
    sink_of_ann: str
    event_of_ann: UUID
    schedule_of_ann: UUID
    node_of_ann: UUID
    rows: Rows
    rows_of_ann: Rows


async def make_world(connection: Connection) -> World:
    await connection.execute(COMMON)
    client = LedgerClient(connection)
    await client.register_once("graph")
    before = await all_rows(connection)
    job, held = await add_things_of(client, ANN, secret=SECRET_OF_ANN)
    with_ann = await all_rows(connection)
    await add_things_of(client, CAROL, secret="a secret of Carol")
    rows = await all_rows(connection)
    assert all(with_ann[name] <= rows[name] for name in rows), "Carol's things touched Ann's"
    schedule = await connection.fetchval("SELECT schedule_id FROM schedule_t WHERE host_id = $1", ANN)
    letter = await connection.fetchrow(
        "SELECT sink, event_id FROM event_dead_letter_t WHERE reason = $1", SECRET_OF_ANN
    )
    assert letter is not None
    return World(
        job,
        held,
        letter["sink"],
        letter["event_id"],
        schedule,
        await connection.fetchval("SELECT id FROM nodes WHERE user_id = $1", ANN),
        rows,
        {name: with_ann[name] - before[name] for name in rows},
    )


async def add_things_of(client: LedgerClient, user: UUID, *, secret: str) -> tuple[UUID, UUID]:
    """Jobs that completed, failed, were deleted, and go on; of the last one the job and its held task."""
    await client.connection.execute("INSERT INTO users (id, name) VALUES ($1, $2)", user, secret)
    await client.connection.execute(LINK, str(user.int % 2**60 + 1), user, secret)
    await client.connection.execute(LINK_CODE, user, secret)
    ended = await client.start(graph(task("ends")), user_id=user)
    await finish_one(client, secret)
    await client.start(graph(task("fails")), user_id=user)
    await client.fail(await client.claim_one(), error=secret, permanent=True)
    deleted = await client.start(graph(), user_id=user)
    await client.connection.execute("DELETE FROM jobs WHERE id = $1", deleted.id)
    assert (await client.job(ended.id))["status"] == "complete"

    await add_events_of(client.connection, user, secret)

    await add_schedule_of(client.connection, user, secret)
    await add_node_of(client.connection, user, secret)
    planned = graph(task("done"), task("held", "done", input={"is": secret}), task("waits", "held"))
    job = await client.start(
        planned, user_id=user, params={"is": secret}, idempotency_key=IDEMPOTENCY_KEY, unique_key=UNIQUE_KEY
    )
    await finish_one(client, secret)
    held = await client.claim_one()
    await client.add_artifact(held, f"{secret}/hidden.txt")
    await client.heartbeat(held, progress=0.5, message=secret)
    await client.let_leases_run_out(held)
    return job.id, held.task_id


async def add_node_of(connection: Connection, user: UUID, secret: str) -> None:
    """A node that lets a server in, and a config."""
    node = await connection.fetchval(
        "INSERT INTO nodes (user_id, public_key, name, claimed_at)"
        " VALUES ($1, sha256($2::text::bytea), $2, clock_timestamp()) RETURNING id",
        user,
        secret,
    )
    await connection.execute("INSERT INTO nodes_permissions VALUES ($1, 'discord', '7')", node)
    await connection.fetchval("SELECT store_config($1)", f'"{secret}"')


async def add_events_of(connection: Connection, user: UUID, secret: str) -> None:
    """An event, and a webhook that could not be told of it."""
    url = "https://example.org/" + secret.replace(" ", "-")
    sink = await connection.fetchval("SELECT name FROM add_webhook($1, '{user.*}', $2)", url, user)
    event = await connection.fetchval("SELECT emit_event('user.told', $1, '', $2)", {"is": secret}, user)
    dead = "INSERT INTO event_dead_letter_t (sink, event_id, reason, attempts) VALUES ($1, $2, $3, 1)"
    await connection.execute(dead, sink, event, secret)
    await connection.execute("INSERT INTO shoal.consumed_events VALUES ($1, $2)", event, sink)


async def add_schedule_of(connection: Connection, user: UUID, secret: str) -> None:
    said = {"schedule_name": secret, "frequency_unit": "YEARS", "event_type": "user.told"}
    schedule = await connection.fetchval("SELECT add_schedule($1, $2)", said, user)
    await connection.execute("SELECT run_schedule($1, ARRAY[clock_timestamp()])", schedule)


async def finish_one(client: LedgerClient, secret: str) -> None:
    claim = await client.claim_one()
    await client.add_artifact(claim, f"{secret}/seen.txt")
    await client.add_logs([(claim, secret)])
    await client.complete(claim, output={"is": secret})


async def all_rows(connection: Connection) -> dict[str, set[str]]:
    names = [row[0] for row in await connection.fetch(RELATIONS)]
    return {
        # The names are those of the catalog.
        name: {row[0] for row in await connection.fetch(f"SELECT t::text FROM {name} t")}  # noqa: S608
        for name in names
    }
