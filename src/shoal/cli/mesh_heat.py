"""The mesh on a terminal: a row for each server, a column for each stretch of shards."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from shoal.wire.mesh import MeshView, ServerView

WIDEST = 30
BLOCKS = " ▁▂▃▄▅▆▇█"


def heat_map(view: MeshView) -> RenderableType:
    if view.coordinator is None:
        return Text("No coordinator is running. 'shoal up' and 'shoal coordinator' are one.")
    table = Table(box=None, pad_edge=False)
    for heading in ("server", "labels", "shards", "", "copies from"):
        table.add_column(heading, no_wrap=True)
    for server in view.servers:
        table.add_row(
            server.address,
            ",".join(server.labels),
            f"{server.owned}/{view.shards}" if view.job_id else "",
            heat_bar(server),
            source(server),
        )
    return Group(Text(headline(view)), table)


def headline(view: MeshView) -> str:
    servers = f"{len(view.servers)} servers at {view.coordinator}"
    if view.job_id is None:
        return f"{servers}, nothing is pushed"
    goal = sum(one.in_goal for one in view.servers)
    return (
        f"{view.data_set}: {view.complete} of {goal} servers complete, {view.from_origin} shards from the "
        f"origin, {view.from_peers} from peers · {servers}"
    )


def heat_bar(server: ServerView) -> Text:
    bar = Text()
    for percent in fewer(server.heat, WIDEST):
        colour = "green" if percent == 100 else "yellow" if percent else "bright_black"
        bar.append(BLOCKS[-(-percent * (len(BLOCKS) - 1) // 100)] if percent else "·", style=colour)
    return bar


def fewer(heat: Sequence[int], most: int) -> list[int]:
    """The means of as many neighbours as it takes, so that a row fits a terminal."""
    many = -(-len(heat) // most) or 1
    parts = [heat[start : start + many] for start in range(0, len(heat), many)]
    return [sum(part) // len(part) for part in parts]


def source(server: ServerView) -> str:
    return "" if server.receives is None else f"{server.source} (shard {server.receives})"
