"""Who may execute a function, found by calling it."""

from dataclasses import dataclass

import asyncpg

from shoal.ledger.connection import Connection

from .actors import Actor, become, undone

FUNCTIONS = """
SELECT n.nspname || '.' || p.proname AS name, p.oid::regprocedure::text AS signature,
       string_to_array(oidvectortypes(p.proargtypes), ', ') AS types,
       coalesce(p.proargnames[:p.pronargs], '{}') AS parameters
  FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
 WHERE n.nspname !~ '^pg_|^information_schema$' ORDER BY 1, 2
"""
GRANTED = """
SELECT has_function_privilege($1::text, $2::text::regprocedure, 'EXECUTE')
   AND has_schema_privilege($1::text, $3::text, 'USAGE')
"""


@dataclass(frozen=True)
class Function:
    name: str
    signature: str
    types: tuple[str, ...]
    parameters: tuple[str, ...]

    def names_of(self, kind: str) -> set[str]:
        """The parameters of a type, or of lists of it."""
        types = (kind, f"{kind}[]")
        return {name for name, its in zip(self.parameters, self.types, strict=False) if its in types}


async def all_functions(connection: Connection) -> list[Function]:
    return [
        Function(row["name"], row["signature"], tuple(row["types"]), tuple(row["parameters"]))
        for row in await connection.fetch(FUNCTIONS)
    ]


async def right_to_execute(connection: Connection, actor: Actor, function: Function) -> str:
    """``x`` when a call is let in, ``-`` when not; ``!`` when it is, and then lacks the rights it needs."""
    schema = function.name.partition(".")[0]
    granted = await connection.fetchval(GRANTED, actor.role, function.signature, schema)
    nothing = ", ".join(f"NULL::{kind}" for kind in function.types)
    async with undone(connection):
        await become(connection, actor)
        try:
            await connection.execute(f"SELECT {function.name}({nothing})")
        except asyncpg.InsufficientPrivilegeError:
            return "!" if granted else "-"
        except asyncpg.PostgresError:
            pass  # nothing is no sensible argument
    assert granted, f"{actor.name} got into {function.signature}, whatever the catalog says"
    return "x"
