"""The SQL of the page on starting jobs does what the page says."""

import pytest

from shoal.ledger.connection import connect

from .pages import DOCS, FENCE

PAGE = DOCS / "how-to" / "start-jobs.md"
REGISTER = "SELECT shoal.register_job_type('album', '1', '{}', '[]')"


@pytest.mark.newest_servers
async def test_the_sql_of_the_page_starts_each_job_once(database_url: str) -> None:
    statements = [
        block["text"]
        for block in FENCE.finditer(PAGE.read_text(encoding="utf-8"))
        if block["language"] == "sql"
    ]
    connection = await connect(database_url, application="test")
    try:
        await connection.execute(REGISTER)
        for statement in statements:
            await connection.execute(statement)
        jobs = await connection.fetch("SELECT type, params, unique_key FROM jobs")
    finally:
        await connection.close()

    assert len(statements) == 3
    assert [tuple(job) for job in jobs] == [("album", {"photos": [{"name": "sea"}]}, "order 17")]
