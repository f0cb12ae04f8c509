"""Which histories of a database fit the files we ship."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.ledger.migrate import Applied, Migration, load_migrations, missing_from, parse_migration
from shoal.runtime.errors import Conflict


def shipped(count: int) -> list[Migration]:
    return [
        Migration(number, f"{number:04}_before_x.sql", f"SELECT {number}") for number in range(1, count + 1)
    ]


def applied(migrations: list[Migration]) -> list[Applied]:
    return [Applied(one.version, one.name, one.checksum) for one in migrations]


@given(st.integers(0, 30), st.data())
def test_what_is_missing_is_the_rest_in_order(count: int, data: st.DataObject) -> None:
    files = shipped(count)
    done = data.draw(st.integers(0, count))
    assert missing_from(files, applied(files[:done])) == files[done:]


@given(st.integers(2, 12), st.data())
def test_a_history_with_a_gap_is_refused(count: int, data: st.DataObject) -> None:
    files = shipped(count)
    gap = data.draw(st.integers(0, count - 2))
    with pytest.raises(Conflict) as refusal:
        missing_from(files, applied(files[:gap] + files[gap + 1 :]))
    assert refusal.value.code == "schema_history_broken"
    assert f"lacks migration {gap + 1} " in refusal.value.message


@given(st.integers(1, 12), st.data())
def test_an_edited_file_is_refused(count: int, data: st.DataObject) -> None:
    files = shipped(count)
    edited = data.draw(st.integers(0, count - 1))
    done = applied(files)
    files[edited] = Migration(edited + 1, files[edited].name, files[edited].text + " ")
    with pytest.raises(Conflict) as refusal:
        missing_from(files, done)
    assert refusal.value.code == "migration_edited"
    assert files[edited].name in refusal.value.message


@given(st.integers(0, 5), st.integers(1, 5))
def test_a_newer_database_is_refused(known: int, more: int) -> None:
    with pytest.raises(Conflict) as refusal:
        missing_from(shipped(known), applied(shipped(known + more)))
    assert refusal.value.code == "schema_too_new"
    assert refusal.value.hint


@pytest.mark.parametrize(
    "name",
    [
        "1_before_x.sql",
        "0001_x.sql",
        "0001_during_x.sql",
        "0001_before_.sql",
        "0001_before_x",
        "x.sql",
        "0001_before_a-b.sql",
    ],
)
def test_a_name_in_another_form_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is not <number>"):
        parse_migration(name, "SELECT 1")


def test_what_we_ship_is_gapless_and_one_transaction_each() -> None:
    migrations = load_migrations()
    assert [one.version for one in migrations] == list(range(1, len(migrations) + 1))
    for migration in migrations:
        assert not {"begin;", "commit;", "rollback;"} & set(migration.text.lower().split("\n"))
        assert "concurrently" not in migration.text.lower()
