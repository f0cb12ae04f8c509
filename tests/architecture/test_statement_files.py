"""Every SQL file can be loaded, and every Lua script and statement lies where its loader looks."""

import pytest

from shoal.ledger.migrate import load_migrations
from shoal.ledger.statements import load_statements

from .repository import PACKAGE, files_of_package

SQL = files_of_package(".sql")
ROOMS = sorted({file.parents[1].name for file in SQL if file.parent.name == "sql"})


def test_sql_lies_in_sql_folders_and_among_the_migrations() -> None:
    migrations = PACKAGE / "ledger" / "migrations"
    assert [file for file in SQL if file.parent.name != "sql" and file.parent != migrations] == []


def test_lua_lies_in_lua_folders() -> None:
    """What several scripts share lies in ``parts`` below them."""
    folders = {file.parent for file in files_of_package(".lua")}
    scripts = {folder.parent if folder.name == "parts" else folder for folder in folders}
    assert {folder.name for folder in scripts} == {"lua"}


@pytest.mark.parametrize("room", ROOMS)
def test_every_statement_of_a_room_keeps_the_word_of_its_header(room: str) -> None:
    statements = load_statements(f"shoal.{room}")
    for file in (PACKAGE / room / "sql").glob("*.sql"):
        assert getattr(statements, file.stem).name == file.stem


@pytest.mark.parametrize("room", ROOMS)
def test_every_statement_of_a_room_is_called(room: str) -> None:
    code = "".join(file.read_text(encoding="utf-8") for file in files_of_package(".py"))
    unused = [file.stem for file in (PACKAGE / room / "sql").glob("*.sql") if f".{file.stem}" not in code]
    assert unused == []


def test_migrations_have_no_gap() -> None:
    numbers = [migration.version for migration in load_migrations()]
    assert numbers == list(range(1, len(numbers) + 1))
    assert numbers
