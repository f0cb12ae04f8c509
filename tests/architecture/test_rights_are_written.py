"""Whoever adds a table or a function says who may use it, where a test then tries it."""

import re

from shoal.ledger.migrate import load_migrations
from tests.integration.ledger.rights.expected import FILE, named_in_rights

from .repository import name_of

NAMED = re.compile(
    r"\b(?P<verb>CREATE|DROP) (?:OR REPLACE )?(?:MATERIALIZED )?(?:TABLE|VIEW|FUNCTION) "
    r"(?:IF (?:NOT )?EXISTS )?(?P<name>\w+\.\w+)"
)


def test_every_table_and_function_of_the_migrations_has_a_line() -> None:
    there: set[str] = set()
    for migration in load_migrations():
        for found in NAMED.finditer(migration.text):
            (there.add if found["verb"] == "CREATE" else there.discard)(found["name"])
    missing = sorted(there - named_in_rights())
    assert not missing, f"{missing}: say in {name_of(FILE)} who may use them"
