"""What PostgreSQL's errors mean to people: refusals of ours are told, defects are not."""

import asyncpg
import pytest

from shoal.ledger.connection import REPEATABLE
from shoal.runtime.errors import Conflict, Forbidden, Invalid, NotFound, ShoalError, TooLarge, Unavailable
from shoal.runtime.refusals import translate


def raised(sqlstate: str, **fields: str) -> asyncpg.PostgresError:
    codes = {"message": "M", "detail": "D", "hint": "H", "constraint_name": "n"}
    answer = {"C": sqlstate, "M": "It is so.", "S": "ERROR"}
    answer |= {codes[name]: text for name, text in fields.items()}
    error: asyncpg.PostgresError = asyncpg.PostgresError.new(answer)
    return error


@pytest.mark.parametrize(
    ("sqlstate", "kind"),
    [("SH400", Invalid), ("SH403", Forbidden), ("SH404", NotFound), ("SH409", Conflict), ("SH413", TooLarge)],
)
def test_a_refusal_keeps_its_code_its_words_and_its_advice(sqlstate: str, kind: type[ShoalError]) -> None:
    error = translate(raised(sqlstate, message="No.", detail="some_code", hint="Ask."))

    assert type(error) is kind
    assert (error.code, error.message, error.hint) == ("some_code", "No.", "Ask.")


def test_a_refusal_without_detail_and_hint_still_has_a_code() -> None:
    error = translate(raised("SH409"))
    assert error is not None
    assert (error.code, error.message, error.hint) == ("refused", "It is so.", "")


@pytest.mark.parametrize(
    ("constraint", "code"),
    [("job_params_fit", "job_params_too_large"), ("task_output_fits", "task_output_too_large")],
)
def test_a_column_over_its_limit_is_too_large(constraint: str, code: str) -> None:
    error = translate(raised("23514", constraint_name=constraint))
    assert isinstance(error, TooLarge)
    assert error.code == code


def test_a_full_disk_is_told_and_can_be_waited_for() -> None:
    error = translate(raised("53100"))
    assert isinstance(error, Unavailable)
    assert error.code == "database_disk_full"
    assert isinstance(error, REPEATABLE)


@pytest.mark.parametrize("sqlstate", ["23514", "23505", "42601", "SH999", "XX000"])
def test_any_other_error_is_a_defect(sqlstate: str) -> None:
    assert translate(raised(sqlstate, constraint_name="jobs_status_check")) is None
