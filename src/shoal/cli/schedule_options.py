"""What the commands of ``shoal schedule`` take, as the API takes it."""

import re
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import msgspec
import typer

from shoal.cli.client import Client
from shoal.runtime.errors import Invalid, NotFound
from shoal.wire.schedules import ScheduleView

Every = Annotated[
    str | None,
    typer.Option(metavar="N UNITS", help="How often, as in '5 minutes' or 'month'.", show_default=False),
]
Cron = Annotated[
    str | None, typer.Option(metavar="EXPRESSION", help="When, as in '0 9 * * 1'.", show_default=False)
]
Zone = Annotated[str, typer.Option("--tz", help="On whose clock, as in Europe/Berlin.")]
Start = Annotated[
    str | None, typer.Option(help="From when on, as in 2030-01-31T09:00:00Z; now.", show_default=False)
]
End = Annotated[str | None, typer.Option(help="Not after this moment.", show_default=False)]

INTERVAL = re.compile(r"(?:(?P<count>-?\d{1,10})\s*)?(?P<unit>[A-Za-z]+)")
UNITS = {
    **dict.fromkeys(("s", "sec", "second", "seconds"), "SECONDS"),
    **dict.fromkeys(("m", "min", "minute", "minutes"), "MINUTES"),
    **dict.fromkeys(("h", "hour", "hours"), "HOURS"),
    **dict.fromkeys(("d", "day", "days"), "DAYS"),
    **dict.fromkeys(("w", "week", "weeks"), "WEEKS"),
    **dict.fromkeys(("month", "months"), "MONTHS"),
    **dict.fromkeys(("y", "year", "years"), "YEARS"),
}


def frequency(every: str | None, cron: str | None) -> dict[str, Any]:
    """``5 minutes`` → 5 MINUTES. What is missing or too much, the API refuses."""
    if every is None:
        return {"cron": cron}
    match = INTERVAL.fullmatch(every.strip())
    unit = UNITS.get(match["unit"].lower()) if match else None
    if match is None or unit is None:
        raise Invalid(
            "invalid_frequency",
            f"{every!r} is not how often something can be.",
            hint="Write a number and seconds, minutes, hours, days, weeks, months or years.",
        )
    return {"cron": cron, "frequencyUnit": unit, "frequencyTime": int(match["count"] or 1)}


def read_object(text: str | None, what: str) -> dict[str, Any]:
    """A JSON object; ``@file`` reads one."""
    if text is None:
        return {}
    try:
        if text.startswith("@"):
            text = Path(text[1:]).read_text(encoding="utf-8")
        return msgspec.json.decode(text, type=dict[str, Any])
    except (OSError, msgspec.DecodeError) as error:
        raise Invalid(
            f"invalid_{what}",
            f"The {what} are not a JSON object: {error}.",
            hint=f"""Write them as in --{what} '{{"name": "Ada"}}', or --{what} @file.json.""",
        ) from error


def named_schedule(client: Client, name: str) -> ScheduleView:
    """By its id or its name."""
    try:
        return client.read_schedule(UUID(name))
    except ValueError:
        found = client.list_schedules({"name": name, "limit": 2}).schedules
    if len(found) > 1:
        raise Invalid(
            "schedule_name_ambiguous",
            f"Several users have a schedule {name!r}.",
            hint="Name it by its id; 'shoal schedule list' shows them.",
        )
    if not found:
        raise NotFound(
            "schedule_not_found",
            f"There is no schedule {name!r}.",
            hint="'shoal schedule list' shows the schedules you can see.",
        )
    return found[0]
