"""A statement keeps the word of its header, or is refused when it is loaded."""

import asyncio
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.ledger.statements import Statement, load_statements, parse_params, parse_statement, read_header

GOOD = """\
-- cancel_job: end a job and every task of it
--   that has not ended
-- params: job_id uuid, reason text
-- returns: one row (id, status), or none
-- locks: its tasks by id, then the job
UPDATE jobs SET error = $2 WHERE id = $1  -- never $3
"""


class Recorder:
    """In place of a connection: what it would be sent."""

    def __init__(self) -> None:
        self.sent: list[tuple[object, ...]] = []

    async def fetch(self, *sent: object) -> None:
        self.sent.append(sent)

    fetchrow = fetchval = execute = fetch


names = st.from_regex(r"[a-z][a-z0-9_]{0,15}", fullmatch=True)


def test_a_good_file_becomes_a_statement() -> None:
    statement = parse_statement("cancel_job", GOOD)

    assert (statement.name, statement.params) == ("cancel_job", ("job_id", "reason"))
    assert statement.text == GOOD


def test_a_line_of_the_header_goes_on_with_the_one_before() -> None:
    header = read_header(GOOD)
    assert " ".join(header["cancel_job"].split()) == "end a job and every task of it that has not ended"


@pytest.mark.parametrize(
    ("was", "now", "complaint"),
    [
        ("-- cancel_job:", "-- end_job:", "must open with"),
        ("-- params:", "-- parameters:", "'-- params"),
        ("-- returns:", "-- gives:", "'-- returns"),
        ("-- locks:", "", "'-- locks"),
        ("job_id uuid, reason text", "job_id uuid", r"declares 1 parameters and uses \[1, 2\]"),
        ("job_id uuid, reason text", "none", r"declares 0 parameters and uses \[1, 2\]"),
        ("reason text", "reason text, at timestamptz", r"declares 3 parameters and uses \[1, 2\]"),
        ("error = $2", "error = $3", r"uses \[1, 3\]"),
        ("error = $2", "error = NULL, id = $1 -- $2", r"uses \[1\]"),
        ("job_id uuid, reason text", "job_id uuid, job_id text", "a name twice"),
        (" job_id uuid, reason text", "", "'-- params"),
        ("job_id uuid, reason text", "job_id uuid, reason text,", "without a name"),
    ],
)
def test_a_file_that_breaks_its_word_is_refused(was: str, now: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint) as refusal:
        parse_statement("cancel_job", GOOD.replace(was, now, 1))
    assert "cancel_job.sql" in str(refusal.value)


@given(params=st.lists(names, unique=True, max_size=8), used=st.sets(st.integers(1, 9), max_size=9))
def test_what_is_declared_is_used_and_what_is_used_is_declared(params: list[str], used: set[int]) -> None:
    declared = ", ".join(f"{name} text" for name in params) or "none"
    text = f"-- probe: x\n-- params: {declared}\n-- returns: x\n-- locks: none\nSELECT " + ", ".join(
        f"${number}" for number in sorted(used)
    )
    if used == set(range(1, len(params) + 1)):
        assert parse_statement("probe", text).params == tuple(params)
    else:
        with pytest.raises(ValueError, match="declares"):
            parse_statement("probe", text)


@given(st.lists(st.tuples(names, names), min_size=1, max_size=8))
def test_parameters_keep_their_order(declared: list[tuple[str, str]]) -> None:
    text = ",".join(f" {name}  {kind} " for name, kind in declared)
    assert parse_params(text) == tuple(name for name, _ in declared)


@pytest.mark.parametrize("values", [{}, {"job_id": 1}, {"job_id": 1, "reason": "", "more": 2}, {"id": 1}])
async def test_a_call_with_other_names_is_refused_before_anything_is_sent(values: dict[str, object]) -> None:
    statement, recorder = parse_statement("cancel_job", GOOD), Recorder()
    for call in (statement.rows, statement.row, statement.value, statement.run):
        with pytest.raises(TypeError, match=re.escape("cancel_job takes (job_id, reason)")):
            await call(recorder, **values)  # type: ignore[arg-type]  # it only records
    assert recorder.sent == []


@given(st.permutations(["a", "b", "c"]))
def test_values_are_sent_in_the_order_of_the_header(given_order: list[str]) -> None:
    statement = Statement("probe", "SELECT $1, $2, $3", ("a", "b", "c"))
    values = {name: f"value of {name}" for name in given_order}

    recorder = Recorder()
    for call in (statement.rows, statement.row, statement.value, statement.run):
        asyncio.run(call(recorder, **values))  # type: ignore[arg-type]  # it only records

    assert recorder.sent == 4 * [("SELECT $1, $2, $3", "value of a", "value of b", "value of c")]


def test_a_folder_is_loaded_by_the_names_of_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "statement_samples"
    (package / "sql").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "sql" / "cancel_job.sql").write_text(GOOD)
    (package / "sql" / "notes.txt").write_text("not a statement")
    monkeypatch.syspath_prepend(str(tmp_path))

    statements = load_statements("statement_samples")
    monkeypatch.delitem(sys.modules, "statement_samples")

    assert statements.cancel_job.params == ("job_id", "reason")
    with pytest.raises(AttributeError, match=r"no statement start_job\.sql"):
        _ = statements.start_job
