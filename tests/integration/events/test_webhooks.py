"""Webhooks: signed, in order, tried again, and never inside our own walls."""

import base64
import hashlib
import hmac
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest

from shoal.ledger.connection import Connection
from shoal.ledger.pool import Ledger

from .receiver import LOOPBACK, Receiver, first_of_each, receiving
from .relaying import relaying, until

ANN = uuid.UUID("00000000-0000-4000-8000-00000000000a")
BOB = uuid.UUID("00000000-0000-4000-8000-00000000000b")

pytestmark = pytest.mark.newest_servers


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as receiver:
        yield receiver


async def hook(connection: Connection, url: str, *patterns: str, user: uuid.UUID | None = None) -> Any:
    add = "SELECT name, secret FROM add_webhook($1, $2, $3)"
    return (await connection.fetch(add, url, list(patterns or ["*"]), user))[0]


async def emit(connection: Connection, note: str, *, key: str = "", user: uuid.UUID = ANN) -> uuid.UUID:
    made: uuid.UUID = await connection.fetchval(
        "SELECT emit_event('user.told', $1, $2, $3)", {"note": note}, key, user
    )
    return made


async def letters(connection: Connection) -> list[tuple[str, int]]:
    rows = await connection.fetch("SELECT reason, attempts FROM event_dead_letter_t")
    return [(row["reason"], row["attempts"]) for row in rows]


async def test_a_message_is_signed_as_standard_webhooks_are(
    ledger: Ledger, database_url: str, receiver: Receiver
) -> None:
    async with ledger.connection() as connection, relaying(database_url, webhook_networks=LOOPBACK):
        secret = (await hook(connection, receiver.url))["secret"]
        event = await emit(connection, "hello", key="k")
        await until(lambda: receiver.told)
    (told,), (headers,), (body,) = receiver.told, receiver.headers, receiver.bodies
    assert told["id"] == headers["webhook-id"] == str(event)
    assert told["payload"] == {"note": "hello"}
    assert (told["type"], told["aggregateId"], told["userId"]) == ("user.told", f"{ANN}:k", str(ANN))
    signed = f"{event}.{headers['webhook-timestamp']}.".encode() + body
    key = base64.b64decode(secret.removeprefix("whsec_"))
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"


async def test_a_users_webhook_is_told_of_their_own_events(
    ledger: Ledger, database_url: str, receiver: Receiver
) -> None:
    async with ledger.connection() as connection, relaying(database_url, webhook_networks=LOOPBACK):
        await hook(connection, receiver.url, user=ANN)
        await emit(connection, "hers")
        await emit(connection, "his", user=BOB)
        await emit(connection, "hers too")
        await until(lambda: "hers too" in receiver.notes())
    assert receiver.notes() == ["hers", "hers too"]


async def test_what_is_busy_is_told_later_and_in_order(
    ledger: Ledger, database_url: str, receiver: Receiver
) -> None:
    answers = iter([503, 500, 429])
    receiver.answer = lambda _: next(answers, 200)
    async with ledger.connection() as connection, relaying(database_url, webhook_networks=LOOPBACK):
        await hook(connection, receiver.url)
        for number in range(5):
            await emit(connection, f"{number}", key="same")
        await until(lambda: len(receiver.told) == 5)
        assert await letters(connection) == []
    assert receiver.notes() == ["0", "1", "2", "3", "4"]


async def test_what_is_refused_goes_to_the_dead_letters_and_can_be_told_again(
    ledger: Ledger, database_url: str, receiver: Receiver
) -> None:
    receiver.answer = lambda event: 422 if event["payload"]["note"] == "poison" else 200
    async with ledger.connection() as connection, relaying(database_url, webhook_networks=LOOPBACK):
        name = (await hook(connection, receiver.url))["name"]
        poison = await emit(connection, "poison", key="same")
        await emit(connection, "fine", key="same")
        await until(lambda: receiver.told)
        assert await letters(connection) == [("It answered 422: as I was bid", 1)]
        receiver.answer = lambda _: 200
        assert await connection.fetchval("SELECT replay_dead_letters($1)", name) == 1
        await until(lambda: len(receiver.told) == 2)
        assert await letters(connection) == []
    assert receiver.told[1]["id"] == str(poison)


async def test_a_broken_sink_blocks_no_other(ledger: Ledger, database_url: str, receiver: Receiver) -> None:
    async with (
        receiving() as broken,
        ledger.connection() as connection,
        relaying(database_url, webhook_networks=LOOPBACK),
    ):
        broken.answer = lambda _: 500
        await hook(connection, broken.url)
        await hook(connection, "http://127.0.0.1:9/nobody")
        await hook(connection, receiver.url)
        for number in range(50):
            await emit(connection, f"{number}", key=f"{number}")
        await until(lambda: len(receiver.told) == 50, within_s=10)
        assert broken.tried > 0


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:{port}/hook",
        "http://localhost:{port}/hook",
        "http://127.1:{port}/hook",
        "http://0.0.0.0:{port}/hook",
        "http://[::ffff:127.0.0.1]:{port}/hook",
        "http://2130706433:{port}/hook",
    ],
)
async def test_a_webhook_never_reaches_what_no_operator_let_in(
    ledger: Ledger, database_url: str, receiver: Receiver, url: str
) -> None:
    port = receiver.url.split(":")[2].split("/")[0]
    async with ledger.connection() as connection, relaying(database_url):
        await hook(connection, url.format(port=port))
        await emit(connection, "secret")
        failed = "SELECT last_error FROM consumer_offset_t WHERE last_error IS NOT NULL"
        await until(lambda: connection.fetchval(failed))
        said = await connection.fetchval(failed)
        assert "may not reach" in said or "not valid" in said
    assert receiver.tried == 0


async def test_a_redirect_is_not_followed(ledger: Ledger, database_url: str, receiver: Receiver) -> None:
    receiver.answer = lambda _: 307 if receiver.tried == 1 else 200
    async with ledger.connection() as connection, relaying(database_url, webhook_networks=LOOPBACK):
        await hook(connection, receiver.url)
        await emit(connection, "one")
        await until(lambda: receiver.told)
        assert receiver.tried == 2
        assert len(first_of_each(receiver.told)) == 1


async def test_a_paused_sink_goes_on_where_it_was(
    ledger: Ledger, database_url: str, receiver: Receiver
) -> None:
    async with ledger.connection() as connection, relaying(database_url, webhook_networks=LOOPBACK):
        name = (await hook(connection, receiver.url))["name"]
        other = (await hook(connection, receiver.url))["name"]
        await connection.fetchval("SELECT pause_event_sink($1, 'under repair')", name)
        await emit(connection, "one")
        await until(lambda: len(receiver.told) == 1)
        await connection.fetchval("SELECT remove_event_sink($1)", other)
        await connection.fetchval("SELECT pause_event_sink($1, NULL)", name)
        await until(lambda: len(receiver.told) == 2)
