"""What the catalog must say of policies and functions, so that no later one reopens an old hole."""

import pytest

from shoal.ledger.pool import Ledger

LAWS = {
    "a table anybody can be let into has row security": """
        SELECT c.oid::regclass::text FROM pg_class c
         WHERE c.relkind IN ('r', 'p') AND NOT c.relrowsecurity
           AND c.relnamespace = 'public'::regnamespace""",
    "a policy says for whom it is, or it is for anon as well": """
        SELECT tablename || ': ' || policyname FROM pg_policies WHERE 'public' = ANY (roles)""",
    "a policy asks who the user is once, and not for every row": """
        SELECT tablename || ': ' || policyname FROM pg_policies
         WHERE regexp_replace(concat(qual, with_check), 'SELECT auth\\.(uid|jwt)\\(\\)', '', 'gi')
               ~ 'auth\\.(uid|jwt)\\(\\)'""",
    "who may change a row says what it may become": """
        SELECT tablename || ': ' || policyname FROM pg_policies
         WHERE cmd IN ('ALL', 'UPDATE', 'INSERT') AND with_check IS NULL""",
    "a function that runs as its owner looks names up nowhere else": """
        SELECT p.oid::regprocedure::text FROM pg_proc p
         WHERE p.prosecdef AND p.pronamespace IN ('public'::regnamespace, 'shoal'::regnamespace)
           AND NOT coalesce(p.proconfig, '{}') @> ARRAY['search_path=""']""",
}


@pytest.mark.parametrize("law", LAWS)
async def test_the_catalog_breaks_no_law(ledger: Ledger, law: str) -> None:
    async with ledger.connection() as connection:
        assert [row[0] for row in await connection.fetch(LAWS[law])] == []
