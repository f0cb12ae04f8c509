"""``app.start`` inside the caller's own transaction: there with it, or not at all."""

from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias
from uuid import UUID, uuid4

import asyncpg
import msgspec
import pytest

from shoal import App, Context, Graph
from shoal.runtime.errors import Conflict, Forbidden, Invalid, NotFound, TooLarge

from .ledger_client import OWNER, LedgerClient

Bare: TypeAlias = "asyncpg.Connection[Any]"

app = App()


class Order(msgspec.Struct):
    number: int
    note: str = ""


@app.task("pack", retries=4, backoff=1.5, priority=2)
def pack(_: Context, order: Order) -> int:
    return order.number


@app.task("send")
def send(_: Context) -> None: ...


@app.job("order", phases={"packing": 60, "sending": 40})
def order(params: Order) -> Graph:
    graph = Graph()
    graph.add(send, needs=[graph.add(pack, params, phase="packing")], phase="sending")
    return graph


@pytest.fixture(autouse=True)
async def registered(ann: LedgerClient) -> None:
    await ann.register("order", [("packing", 60), ("sending", 100)])


@pytest.fixture
async def bare(database_url: str) -> Any:
    """As an application opens it: nobody has told this connection how Shoal writes JSON."""
    connection = await asyncpg.connect(database_url)
    yield connection
    await connection.close()


async def test_a_job_is_there_with_its_tasks_once_the_transaction_commits(
    ann: LedgerClient, bare: Bare
) -> None:
    async with bare.transaction():
        job = await app.start(order, Order(17), connection=bare, user_id=OWNER)
        assert await ann.claim(9, types=["pack"]) == []

    (claim,) = await ann.claim(9, types=["pack"])
    assert (claim.job_id, claim.input, claim.max_attempts) == (job, {"number": 17, "note": ""}, 5)
    assert [row["name"] for row in await ann.tasks(job)] == ["pack", "send"]
    assert (await ann.job(job))["params"] == {"number": 17, "note": ""}


async def test_of_a_transaction_that_is_rolled_back_nothing_remains(ann: LedgerClient, bare: Bare) -> None:
    transaction = bare.transaction()
    await transaction.start()
    await app.start("order", {"number": 1}, connection=bare, user_id=OWNER)
    await app.start_many(order, [Order(2), Order(3)], connection=bare, user_id=OWNER)
    await transaction.rollback()
    assert await ann.connection.fetchval("SELECT count(*) FROM jobs") == 0


async def test_many_are_started_in_order_with_keys_of_their_own(ann: LedgerClient, bare: Bare) -> None:
    orders = [Order(number) for number in range(10_003)]

    ids = await app.start_many(
        order, orders, connection=bare, user_id=OWNER, unique_key=lambda one: f"order {one.number}"
    )

    rows = await ann.connection.fetch("SELECT id, params, unique_key FROM jobs")
    found = {row["id"]: (row["params"]["number"], row["unique_key"]) for row in rows}
    assert [found[job] for job in ids] == [(number, f"order {number}") for number in range(10_003)]
    again = await app.start_many(
        order,
        orders[:3],
        connection=bare,
        user_id=OWNER,
        unique_key=lambda one: f"order {one.number}",
        on_conflict="existing",
    )
    assert again == ids[:3]


async def test_none_of_many_is_started_when_a_later_one_is_wrong(ann: LedgerClient, bare: Bare) -> None:
    orders = [*(Order(number) for number in range(10_002)), Order(1, note="a" * 70_000)]
    with pytest.raises(TooLarge, match=r"^jobs\[10002\]: "):
        await app.start_many(order, orders, connection=bare, user_id=OWNER)
    assert await ann.connection.fetchval("SELECT count(*) FROM jobs") == 0


async def test_wishes_reach_the_job(ann: LedgerClient, bare: Bare) -> None:
    later = datetime.now(UTC) + timedelta(hours=1)
    given: dict[str, Any] = {"connection": bare, "user_id": OWNER, "priority": 9, "unique_key": "k"}

    job = await app.start(order, Order(1), run_at=later, idempotency_key="once", **given)
    again = await app.start(order, Order(1), run_at=later, idempotency_key="once", **given)

    row = await ann.job(job)
    assert (again, row["priority"], row["unique_key"]) == (job, 9, "k")
    assert await ann.claim(9, types=["pack"]) == []
    with pytest.raises(Conflict) as caught:
        await app.start(order, Order(1), **given)
    assert caught.value.code == "job_exists"


async def test_a_user_starts_their_own_and_leaves_the_planning_to_a_worker(
    ann: LedgerClient, bare: Bare
) -> None:
    user = uuid4()
    async with bare.transaction():
        await bare.execute("SET LOCAL ROLE authenticated")
        claims = f'{{"sub": "{user}", "role": "authenticated"}}'
        await bare.execute("SELECT set_config('request.jwt.claims', $1, true)", claims)
        with pytest.raises(Forbidden, match="made of"):
            await app.start(order, Order(1), connection=bare)
        job = await app.start(order, Order(1), connection=bare, planned_by="worker")

    assert (await ann.job(job))["user_id"] == user
    (claim,) = await ann.claim(9, types=["plan:order"])
    assert claim.job_id == job


async def test_what_is_wrong_is_refused_before_anything_is_sent(bare: Bare) -> None:
    with pytest.raises(Invalid, match="parameters of order"):
        await app.start(order, {"number": "many"}, connection=bare, user_id=OWNER)
    with pytest.raises(Invalid, match="no job 'unheard_of'"):
        await app.start("unheard_of", connection=bare, user_id=OWNER)
    moment = datetime(2030, 1, 1)  # noqa: DTZ001 - that is what is refused
    with pytest.raises(Invalid, match="time zone"):
        await app.start(order, Order(1), connection=bare, user_id=OWNER, run_at=moment)


async def test_a_type_no_worker_has_registered_is_refused(bare: Bare) -> None:
    lonely = App()

    @lonely.job("lonely")
    def make(_: dict[str, Any]) -> Graph:
        return Graph()

    with pytest.raises(NotFound, match="no job type 'lonely'"):
        await lonely.start(make, connection=bare, user_id=UUID(int=1))
