"""Reading on from where one was: nothing is passed by, and nobody sees what is not theirs."""

import uuid

import pytest

from shoal.events.service import Events
from shoal.ledger.connection import connect
from shoal.ledger.pool import Ledger
from shoal.runtime.errors import Forbidden, Invalid, NotFound
from shoal.wire.events import AddWebhook, EmitEvent, EventPage, Replay

ANN = uuid.UUID("00000000-0000-4000-8000-00000000000a")
BOB = uuid.UUID("00000000-0000-4000-8000-00000000000b")
HERS = {"sub": str(ANN), "role": "authenticated"}
HIS = {"sub": str(BOB), "role": "authenticated"}
SERVICE = {"role": "service_role"}

pytestmark = pytest.mark.newest_servers


@pytest.fixture
def events(ledger: Ledger) -> Events:
    return Events(ledger, operators=[BOB], webhook_networks=[])


async def look(
    events: Events, claims: dict[str, str], cursor: str | None = None, *, size: int = 100, start: bool = False
) -> EventPage:
    return await events.list(
        claims, types=None, aggregate_id=None, cursor=cursor, from_start=start, page_size=size
    )


def notes(page: EventPage) -> list[str]:
    return [event.payload["note"] for event in page.events]


async def emit(events: Events, note: str, claims: dict[str, str] = HERS) -> uuid.UUID:
    return (await events.emit(claims, EmitEvent(type="user.told", payload={"note": note}))).id


async def test_who_reads_on_passes_nothing_by(events: Events, database_url: str) -> None:
    other = await connect(database_url, application="test")
    late = other.transaction()
    await late.start()
    await other.fetchval("SELECT emit_event('user.told', '{\"note\": \"drawn first\"}', '', $1)", ANN)
    await emit(events, "committed first")
    before = await look(events, HERS)
    await late.commit()
    await other.close()
    after = await look(events, HERS, before.next)
    assert sorted(notes(before) + notes(after)) == ["committed first", "drawn first"]
    assert notes(await look(events, HERS, after.next)) == []


async def test_pages_follow_each_other(events: Events) -> None:
    for number in range(7):
        await emit(events, f"{number}")
    assert notes(await look(events, HERS, size=3)) == ["4", "5", "6"]
    page = await look(events, HERS, size=3, start=True)
    seen = notes(page)
    while page.events:
        page = await look(events, HERS, page.next, size=3)
        seen += notes(page)
    assert seen == [f"{number}" for number in range(7)]


async def test_everybody_sees_their_own_events(events: Events) -> None:
    await emit(events, "hers")
    await emit(events, "his", HIS)
    assert notes(await look(events, HERS)) == ["hers"]
    assert notes(await look(events, HIS)) == ["his"]
    assert notes(await look(events, SERVICE)) == ["hers", "his"]


@pytest.mark.parametrize("cursor", ["x", "bnVsbA==", "WyJhIl0=", "WyIxIiwgIjIiXQ=="])
async def test_a_cursor_that_was_not_given_out_is_refused(events: Events, cursor: str) -> None:
    with pytest.raises(Invalid) as refused:
        await look(events, HERS, cursor)
    assert refused.value.code == "invalid_cursor"


async def test_a_sink_is_steered_by_whose_it_is_and_by_operators(events: Events) -> None:
    hers = await events.add_webhook(HERS, AddWebhook(url="https://example.org/hook"))
    assert {sink.name for sink in (await events.list_sinks(HERS)).sinks} == {hers.name}
    carol = {"sub": str(uuid.uuid4()), "role": "authenticated"}
    assert (await events.list_sinks(carol)).sinks == []
    for refused in (
        events.pause(carol, hers.name, "mine now"),
        events.remove(carol, hers.name),
        events.replay(carol, hers.name, Replay()),
        events.replay_dead_letters(carol, hers.name, None),
        events.forget_dead_letters(carol, hers.name, None),
        events.pause(HERS, "start-jobs", "stop everybody"),
    ):
        with pytest.raises(NotFound):
            await refused
    assert (await events.pause(HIS, hers.name, "by an operator")).paused_because == "by an operator"
    assert (await events.pause(HERS, hers.name, None)).paused_because is None
    await events.remove(HERS, hers.name)


async def test_only_operators_hear_of_everybody(events: Events) -> None:
    wish = AddWebhook(url="https://example.org/hook", everybody=True)
    with pytest.raises(Forbidden):
        await events.add_webhook(HERS, wish)
    added = await events.add_webhook(HIS, wish)
    (sink,) = [one for one in (await events.list_sinks(SERVICE)).sinks if one.name == added.name]
    assert sink.user_id is None


async def test_a_user_has_at_most_twenty_webhooks(events: Events) -> None:
    for _ in range(20):
        await events.add_webhook(HERS, AddWebhook(url="https://example.org/hook"))
    with pytest.raises(Exception, match="20 webhooks"):
        await events.add_webhook(HERS, AddWebhook(url="https://example.org/hook"))


@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1/",
        "https://10.0.0.1/",
        "https://[::1]/",
        "https://[::ffff:10.0.0.1]/",
        "https://[64:ff9b::a00:1]/",
        "https://169.254.169.254/latest/meta-data",
        "https://100.64.0.1/",
        "http://example.org/",
        "ftp://example.org/",
        "https://ann:secret@example.org/",
        "https:///nowhere",
        "javascript:alert(1)",
    ],
)
async def test_a_url_into_our_walls_or_without_tls_is_refused_at_once(events: Events, url: str) -> None:
    with pytest.raises(Invalid):
        await events.add_webhook(HERS, AddWebhook(url=url))
