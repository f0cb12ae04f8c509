"""What our SQL refuses leaves the ledger as one of our errors; a defect leaves as it is."""

import asyncpg
import pytest

from shoal.ledger.pool import Ledger
from shoal.runtime.errors import Conflict, Forbidden, Invalid, NotFound, ShoalError, TooLarge

NEW_TYPE = "INSERT INTO public.job_types (type, params_schema) VALUES ('hello', $1)"


@pytest.mark.parametrize(
    ("sqlstate", "kind"),
    [("SH400", Invalid), ("SH403", Forbidden), ("SH404", NotFound), ("SH409", Conflict), ("SH413", TooLarge)],
)
async def test_a_refusal_arrives_with_code_words_and_advice(
    ledger: Ledger, sqlstate: str, kind: type[ShoalError]
) -> None:
    with pytest.raises(ShoalError) as refused:
        async with ledger.transaction() as connection:
            await connection.execute("SELECT shoal.refuse($1, 'some_code', 'It is so.', 'Ask.')", sqlstate)

    error = refused.value
    assert (type(error), error.code, error.message, error.hint) == (kind, "some_code", "It is so.", "Ask.")


async def test_a_text_that_cannot_be_stored_is_the_callers_mistake(ledger: Ledger) -> None:
    with pytest.raises(Invalid) as refused:
        async with ledger.connection() as connection:
            await connection.execute(NEW_TYPE, {"title": "a\0b"})
    assert refused.value.code == "text_not_storable"


async def test_a_text_with_a_zero_in_a_plain_column_is_as_well(ledger: Ledger) -> None:
    with pytest.raises(Invalid) as refused:
        async with ledger.connection() as connection:
            await connection.execute("SELECT shoal.refuse('SH400', 'x', $1)", "a\0b")
    assert refused.value.code == "text_not_storable"


async def test_parameters_over_the_limit_are_too_large(ledger: Ledger) -> None:
    async with ledger.connection() as connection:
        await connection.execute(NEW_TYPE, {})
    with pytest.raises(TooLarge) as refused:
        async with ledger.connection() as connection:
            await connection.execute(
                "SELECT create_job('hello', $1, gen_random_uuid())", {"text": "x" * 65536}
            )
    assert refused.value.code == "job_params_too_large"


async def test_a_defect_stays_what_it_is(ledger: Ledger) -> None:
    with pytest.raises(asyncpg.UndefinedTableError):
        async with ledger.connection() as connection:
            await connection.execute("SELECT * FROM public.nothing")


async def test_the_connection_is_good_after_a_refusal(ledger: Ledger) -> None:
    async with ledger.connection() as connection:
        with pytest.raises(asyncpg.DivisionByZeroError):
            await connection.execute("SELECT 1 / 0")
        assert await connection.fetchval("SELECT 1") == 1
