"""``shoal events``: see what happens, and say who is told of it."""

import time
from typing import Annotated, Any
from uuid import UUID

import msgspec
import typer

from shoal.cli.client import Client, open_client
from shoal.cli.options import Json, configured
from shoal.roles.config import Given
from shoal.runtime.errors import Invalid
from shoal.wire.events import EventView, SinkView

app = typer.Typer(help="Events: what happened, and who is told.", no_args_is_help=True)
dead = typer.Typer(help="Events that a sink could not be told.", no_args_is_help=True)
app.add_typer(dead, name="dead")

LOOK_EVERY_S = 1.0
PAGE = 200

SinkName = Annotated[str, typer.Argument(metavar="SINK", help="The name of the sink.")]
Types = Annotated[
    list[str] | None, typer.Option("--type", help="Only such events, as in job.completed or job.*.")
]
Ids = Annotated[list[UUID] | None, typer.Option("--event", help="Only the event with this id.")]


@app.command()
@configured
def tail(
    *,
    given: Given,
    types: Types = None,
    aggregate: Annotated[
        str | None, typer.Option(help="Only those of this job, schedule, …", show_default=False)
    ] = None,
    lines: Annotated[int, typer.Option("-n", min=1, max=1000, help="How many to begin with.")] = 20,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on as things happen.")] = False,
    from_start: Annotated[
        bool, typer.Option("--from-start", help="All that are kept, the oldest first.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show what happened last; with -f also what happens next."""
    filters: dict[str, Any] = {"type": types, "aggregateId": aggregate}
    size = PAGE if from_start else lines
    with open_client(given) as client:
        page = client.list_events({**filters, "fromStart": from_start, "limit": size})
        while True:
            for event in page.events:
                typer.echo(msgspec.json.encode(event).decode() if as_json else _event_line(event))
            is_full = len(page.events) == size
            if not follow and not (from_start and is_full):
                return
            if not is_full:
                time.sleep(LOOK_EVERY_S)
            size = PAGE
            page = client.list_events({**filters, "cursor": page.next, "limit": size})


@app.command()
@configured
def emit(
    *,
    given: Given,
    event_type: Annotated[str, typer.Argument(metavar="TYPE", help="Begins with user.")],
    payload: Annotated[str, typer.Option(help="What it says, as a JSON object.")] = "{}",
    key: Annotated[str, typer.Option(help="Events with the same key are told in order.")] = "",
    user: Annotated[
        UUID | None, typer.Option(help="Whose it is, when the token is a service's key.", show_default=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """Emit an event of your own."""
    try:
        said = msgspec.json.decode(payload, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise Invalid("invalid_payload", f"The payload is not a JSON object: {error}.") from error
    request = {"type": event_type, "payload": said, "key": key, "userId": user and str(user)}
    with open_client(given) as client:
        made = client.emit_event(request)
    typer.echo(msgspec.json.encode(made).decode() if as_json else str(made.id))


@app.command()
@configured
def webhook(
    *,
    given: Given,
    url: Annotated[str, typer.Argument(metavar="URL", help="Where the messages go.")],
    types: Types = None,
    everybody: Annotated[
        bool, typer.Option("--everybody", help="Of all users' events; for operators.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Have events sent to a URL. The secret they are signed with is shown this once."""
    with open_client(given) as client:
        added = client.add_webhook({"url": url, "events": types or ["*"], "everybody": everybody})
    if as_json:
        typer.echo(msgspec.json.encode(added).decode())
    else:
        typer.echo(f"{added.name}\nsecret: {added.secret}")


@app.command()
@configured
def sinks(*, given: Given, as_json: Json = False) -> None:
    """List who is told of events, and how far."""
    _list_sinks(given, as_json=as_json, only_consumers=False)


@app.command()
@configured
def consumers(*, given: Given, as_json: Json = False) -> None:
    """List the consumers of apps, and how far they are."""
    _list_sinks(given, as_json=as_json, only_consumers=True)


@app.command()
@configured
def pause(
    *,
    given: Given,
    sink: SinkName,
    because: Annotated[str, typer.Option(help="Why, for whoever looks at it later.")] = "Paused.",
    as_json: Json = False,
) -> None:
    """Hold a sink up. It misses nothing, as long as events are kept."""
    with open_client(given) as client:
        _print_sink(client.steer_sink(sink, "pause", {"because": because}), as_json=as_json)


@app.command()
@configured
def resume(*, given: Given, sink: SinkName, as_json: Json = False) -> None:
    """Tell a sink again, from where it was held up."""
    with open_client(given) as client:
        _print_sink(client.steer_sink(sink, "resume", {}), as_json=as_json)


@app.command()
@configured
def remove(*, given: Given, sink: SinkName) -> None:
    """Tell a sink no more. Its dead letters go with it."""
    with open_client(given) as client:
        client.remove_sink(sink)


@app.command()
@configured
def replay(
    *,
    given: Given,
    sink: SinkName,
    types: Types = None,
    since: Annotated[
        str | None, typer.Option(help="Not older, as in 2030-01-31T09:00:00Z.", show_default=False)
    ] = None,
    until: Annotated[str | None, typer.Option(help="Older than that moment.", show_default=False)] = None,
    events: Ids = None,
    as_json: Json = False,
) -> None:
    """Tell a sink again what happened, with the same ids."""
    request = {"since": since, "until": until, "types": types, "eventIds": _written(events)}
    _tell_again(given, sink, "replay", request, as_json=as_json)


@dead.command("list")
@configured
def list_dead(
    *,
    given: Given,
    sink: Annotated[str | None, typer.Option(help="Only of this sink.", show_default=False)] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many.")] = 20,
    cursor: Annotated[str | None, typer.Option(help="Where the page before ended.")] = None,
    as_json: Json = False,
) -> None:
    """List what sinks could not be told, with the reason; the latest first."""
    with open_client(given) as client:
        page = client.list_event_dead_letters({"sink": sink, "limit": limit, "cursor": cursor})
    if as_json:
        typer.echo(msgspec.json.encode(page).decode())
        return
    for letter in page.dead_letters:
        typer.echo(f"{letter.event.id}  {letter.sink:24} {letter.event.type:24} {letter.reason}")
    if page.next:
        typer.echo(f"more: --cursor {page.next}")


@dead.command("replay")
@configured
def replay_dead(*, given: Given, sink: SinkName, events: Ids = None, as_json: Json = False) -> None:
    """Try again to tell a sink its dead letters."""
    _tell_again(given, sink, "dead-letters/replay", {"eventIds": _written(events)}, as_json=as_json)


@dead.command("forget")
@configured
def forget_dead(*, given: Given, sink: SinkName, events: Ids = None, as_json: Json = False) -> None:
    """Give up dead letters of a sink."""
    _tell_again(given, sink, "dead-letters/forget", {"eventIds": _written(events)}, as_json=as_json)


def _tell_again(given: Given, sink: str, what: Any, request: dict[str, Any], *, as_json: bool) -> None:
    with open_client(given) as client:
        counted = client.tell_again(sink, what, request)
    typer.echo(msgspec.json.encode(counted).decode() if as_json else f"{counted.events} events")


def _list_sinks(given: Given, *, as_json: bool, only_consumers: bool) -> None:
    with open_client(given) as client:
        found = _found(client, only_consumers=only_consumers)
    if as_json:
        typer.echo(msgspec.json.encode({"sinks": found}).decode())
        return
    for one in found:
        typer.echo(_sink_line(one))


def _found(client: Client, *, only_consumers: bool) -> list[SinkView]:
    found = client.list_sinks().sinks
    return [one for one in found if one.kind == "consumer"] if only_consumers else found


def _written(events: list[UUID] | None) -> list[str] | None:
    return [str(event) for event in events] if events else None


def _event_line(event: EventView) -> str:
    said = msgspec.json.encode(event.payload).decode()
    return f"{event.occurred_at:%Y-%m-%d %H:%M:%S}  {event.type:20} {event.aggregate_id}  {said[:200]}"


def _print_sink(sink: SinkView, *, as_json: bool) -> None:
    typer.echo(msgspec.json.encode(sink).decode() if as_json else _sink_line(sink))


def _sink_line(sink: SinkView) -> str:
    state = f"paused: {sink.paused_because}" if sink.paused_because else (sink.last_error or "")
    wants = ",".join(sink.events)
    return (
        f"{sink.name:24} {sink.kind:9} behind {sink.behind:<8} dead {sink.dead:<6} {wants}"
        f"{'  ' + sink.url if sink.url else ''}{'  ' + state if state else ''}"
    )
