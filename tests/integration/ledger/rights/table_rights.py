"""What somebody reaches in a table, found by trying."""

import asyncpg

from shoal.ledger.connection import Connection

from .actors import Actor, become, undone
from .world import World

# Neither the right to do it, nor (for a view) anything that could be done.
REFUSED = (asyncpg.InsufficientPrivilegeError, asyncpg.ObjectNotInPrerequisiteStateError)

WRITABLE_COLUMNS = """
SELECT quote_ident(attname) FROM pg_attribute
 WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum
"""
PLAIN_COLUMN = """
SELECT quote_ident(attname) FROM pg_attribute
 WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
   AND attidentity = '' ORDER BY attnum LIMIT 1
"""
ANY_RIGHT = "SELECT has_any_column_privilege($1::text, $2::text, $3::text)"


async def rights_in_table(connection: Connection, actor: Actor, world: World, table: str) -> str:
    """One sign each for select, insert, update and delete; ``rights.txt`` says what they mean."""
    found = [
        await selected(connection, actor, world, table),
        await inserted(connection, actor, world, table),
        await changed(connection, actor, world, table, "UPDATE"),
        await changed(connection, actor, world, table, "DELETE"),
    ]
    for sign, verb in zip(found, ("SELECT", "INSERT", "UPDATE"), strict=False):
        if sign == "-":  # not even in single columns
            assert not await connection.fetchval(ANY_RIGHT, actor.role, table, verb), (
                actor.name,
                table,
                verb,
            )
    return "".join(found)


async def selected(connection: Connection, actor: Actor, world: World, table: str) -> str:
    async with undone(connection):
        await become(connection, actor)
        try:
            rows = await connection.fetch(f"SELECT t::text FROM {table} t")  # noqa: S608 - a name of ours
        except REFUSED:
            return "-"
    seen, own = {row[0] for row in rows}, world.rows_of_ann[table]
    if seen == world.rows[table]:
        return "*"
    if seen == own:
        return "o" if own else "0"
    return "0" if not seen else "s" if seen < own else "?"


async def changed(connection: Connection, actor: Actor, world: World, table: str, verb: str) -> str:
    """How many rows a change of everything reaches."""
    statement = f"DELETE FROM {table}"  # noqa: S608 - a name of ours
    if verb == "UPDATE":
        column = await connection.fetchval(PLAIN_COLUMN, table)
        statement = f"UPDATE {table} SET {column} = {column}"  # noqa: S608 - names of ours
    async with undone(connection):
        await become(connection, actor)
        try:
            done = await connection.execute(statement)
        except REFUSED:
            return "-"
    reached = int(done.split()[-1])
    signs = {len(world.rows_of_ann[table]): "o", len(world.rows[table]): "*", 0: "0"}
    return signs.get(reached, "?")


async def inserted(connection: Connection, actor: Actor, world: World, table: str) -> str:
    """Whether a row of Ann, and one that is not hers, can be put back after it was taken away."""
    own = world.rows_of_ann[table]
    accepted = [
        await accepts(connection, actor, table, min(rows)) for rows in (own, world.rows[table] - own) if rows
    ]
    if not any(accepted):
        return "-"
    return "*" if all(accepted) else "o" if accepted[0] else "?"


async def accepts(connection: Connection, actor: Actor, table: str, row: str) -> bool:
    columns = ", ".join(line[0] for line in await connection.fetch(WRITABLE_COLUMNS, table))
    async with undone(connection):
        await connection.execute(f"CREATE TEMP TABLE spare (LIKE {table}); GRANT SELECT ON spare TO PUBLIC")
        await connection.execute(f"INSERT INTO spare SELECT * FROM {table} t WHERE t::text = $1", row)  # noqa: S608
        await connection.execute("SET LOCAL session_replication_role = replica")  # and nothing follows it
        try:
            await connection.execute(f"DELETE FROM {table} t WHERE t::text = $1", row)  # noqa: S608
            await connection.execute("SET LOCAL session_replication_role = origin")
            await become(connection, actor)
            await connection.execute(
                f"INSERT INTO {table} ({columns}) OVERRIDING SYSTEM VALUE SELECT {columns} FROM spare"  # noqa: S608
            )
        except REFUSED:
            return False
        except asyncpg.PostgresError as error:
            if not error.sqlstate.startswith("SH"):  # not the right was missing, a rule of ours was broken
                raise
    return True
