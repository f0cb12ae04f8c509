"""``shoal schedule preview``: when something would run. It needs nothing that runs."""

from datetime import UTC, datetime
from typing import Annotated

import msgspec
import typer

from shoal.cli.options import Json
from shoal.cli.schedule_options import End, Every, Start, Zone, frequency
from shoal.runtime.errors import Invalid
from shoal.wire.schedules import MOST_UPCOMING


def preview(
    *,
    cron: Annotated[
        str | None,
        typer.Argument(metavar="[EXPRESSION]", help="When, as in '0 9 * * 1'.", show_default=False),
    ] = None,
    every: Every = None,
    zone: Zone = "UTC",
    start: Start = None,
    end: End = None,
    count: Annotated[int, typer.Option("-n", "--count", min=1, max=MOST_UPCOMING, help="How many.")] = 10,
    as_json: Json = False,
) -> None:
    """Print the next times of an expression or a frequency, on the clock of a time zone."""
    from shoal.schedules.local_time import find_zone
    from shoal.schedules.requests import pattern_asked
    from shoal.schedules.rules import upcoming
    from shoal.wire.schedules import PreviewSchedule

    asked = {**frequency(every, cron), "zone": zone, "startAt": start, "endAt": end, "count": count}
    try:
        request = msgspec.convert(
            {name: value for name, value in asked.items() if value is not None}, PreviewSchedule
        )
    except msgspec.ValidationError as error:
        raise Invalid("invalid_request", f"{error}.") from error
    now = datetime.now(UTC)
    pattern = pattern_asked(request, now=now)
    found = upcoming(pattern, after=max(now, pattern.start), count=count)
    shown = [moment.astimezone(find_zone(zone)) for moment in found]
    if as_json:
        typer.echo(msgspec.json.encode({"occurrences": shown}).decode())
        return
    for moment in shown:
        typer.echo(f"{moment:%a} {moment.isoformat(sep=' ')}")


def add_to(app: typer.Typer) -> None:
    app.command("preview")(preview)
