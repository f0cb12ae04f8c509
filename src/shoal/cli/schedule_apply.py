"""``shoal schedule apply``: the schedules that an app declares, as schedules of whoever asks."""

from typing import Annotated

import msgspec
import typer

from shoal.cli.client import open_client
from shoal.cli.options import Json, configured
from shoal.cli.schedule_lines import schedule_line
from shoal.roles.config import Given
from shoal.runtime.errors import Invalid
from shoal.wire.schedules import SchedulePage


@configured
def apply(
    *,
    given: Given,
    app: Annotated[str, typer.Argument(metavar="APP", help="The app, as in examples.hello:app.")],
    as_json: Json = False,
) -> None:
    """Add the schedules that an app declares, or make those of the same names into them.

    Repeated, it changes nothing. Schedules that the app declares no more stay: delete them.
    """
    from shoal.roles.worker_apps import load_app

    declared = load_app(app).schedules
    if not declared:
        raise Invalid(
            "no_schedules_declared",
            f"{app} declares no schedules.",
            hint="Write @app.schedule(cron=..., tz=...) above the @app.job.",
        )
    with open_client(given) as client:
        added = [
            client.add_schedule({**one.as_asked(), "onConflict": "replace"}) for one in declared.values()
        ]
    if as_json:
        typer.echo(msgspec.json.encode(SchedulePage(added, None)).decode())
        return
    for one in added:
        typer.echo(schedule_line(one))


def add_to(app: typer.Typer) -> None:
    app.command("apply")(apply)
