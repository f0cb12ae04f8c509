"""``shoal node``: lend this machine to a fleet, and steer the nodes that are yours."""

import asyncio
from typing import Annotated

import msgspec
import typer

from shoal.cli.client import Client, open_client
from shoal.cli.options import Json, configured
from shoal.cli.worker import say_ready, say_ready_and_no_more
from shoal.roles.config import Given
from shoal.runtime.errors import Conflict, Invalid, NotFound
from shoal.wire.fleet import Registered
from shoal.wire.nodes import Access, ChangeNode, ClaimNode, NodeView, SetAccess

app = typer.Typer(help="Nodes of a fleet: machines that compute chunks.", no_args_is_help=True)

Node = Annotated[str, typer.Argument(metavar="NODE", help="The node's id, or its name if only one has it.")]


@app.command()
@configured
def run(
    *,
    given: Given,
    engines: Annotated[
        list[str],
        typer.Option(metavar="MODULE:APP", help="An app whose engines this node has; may be repeated."),
    ],
    url: Annotated[
        str | None,
        typer.Option(help="Whom to work for, as in https://shoal.example.org.", show_default=False),
    ] = None,
    parallel: Annotated[
        int | None,
        typer.Option(min=1, help="Chunks to compute at a time; else all processors but one."),
    ] = None,
    directory: Annotated[
        str | None,
        typer.Option("--dir", help="Where this node keeps its key and its results.", show_default=False),
    ] = None,
    name: Annotated[str | None, typer.Option(help="What the node calls itself at first.")] = None,
    claim: Annotated[
        bool, typer.Option("--claim", help="Claim the node for the user whose token or key this is.")
    ] = False,
    until_stdin_closes: Annotated[bool, typer.Option("--until-stdin-closes", hidden=True)] = False,
) -> None:
    """Compute chunks on this machine, giving way to whatever else it does, until told to stop."""
    from shoal.cli.run import run_role
    from shoal.roles.node import load_engines, read_node_config, run_node

    given = given.with_flags(api_url=url, node_parallel=parallel, node_dir=directory, node_name=name)
    settings = read_node_config(given)
    known, apps = load_engines(engines)

    async def on_registered(registered: Registered) -> None:
        if registered.claim_code is None:
            return
        if claim:
            await asyncio.to_thread(_claim, given, registered.claim_code)
        elif not until_stdin_closes:
            typer.echo(f"node {registered.id} belongs to nobody yet; its owner-to-be runs:")
            typer.echo(f"  shoal node claim {registered.claim_code}")

    run_role(
        run_node(
            settings,
            apps,
            engines=known,
            on_registered=on_registered,
            on_ready=say_ready_and_no_more if until_stdin_closes else say_ready,
            with_stdin=until_stdin_closes,
        ),
        settings=settings,
        name="node",
    )


@app.command("list")
@configured
def list_nodes(*, given: Given, as_json: Json = False) -> None:
    """List your nodes: which are there, and what they do."""
    with open_client(given) as client:
        found = _all(client)
    if as_json:
        typer.echo(msgspec.json.encode(found).decode())
        return
    for node in found:
        typer.echo(_line(node))


@app.command()
@configured
def show(*, given: Given, node: Node, as_json: Json = False) -> None:
    """Show one of your nodes."""
    with open_client(given) as client:
        _print(_find(client, node), as_json=as_json)


@app.command()
@configured
def claim(
    *,
    given: Given,
    code: Annotated[str, typer.Argument(help="What 'shoal node run' printed.")],
    name: Annotated[str | None, typer.Option(help="What to call it.", show_default=False)] = None,
    as_json: Json = False,
) -> None:
    """Make a node yours. Until you give others access, it runs your jobs alone."""
    with open_client(given) as client:
        _print(client.claim_node(ClaimNode(code, name)), as_json=as_json)


@app.command()
@configured
def rename(
    *,
    given: Given,
    node: Node,
    name: Annotated[str, typer.Argument(help="What to call it from now on.")],
    as_json: Json = False,
) -> None:
    """Call a node something else."""
    _change(given, node, ChangeNode(name=name), as_json=as_json)


@app.command()
@configured
def access(
    *,
    given: Given,
    node: Node,
    public: Annotated[bool, typer.Option("--public", help="Run everybody's jobs.")] = False,
    owner_only: Annotated[bool, typer.Option("--owner-only", help="Run your jobs alone.")] = False,
    user: Annotated[
        list[str] | None, typer.Option(metavar="USER_ID", help="Run the jobs of this user; may be repeated.")
    ] = None,
    discord: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SERVER_ID", help="Run the jobs of a Discord server's members; may be repeated."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Say whose jobs a node runs besides yours. What is not named any more may no longer."""
    wanted = [
        *([Access("public")] if public else []),
        *(Access("user", one) for one in user or []),
        *(Access("discord", one) for one in discord or []),
    ]
    if bool(wanted) == owner_only:
        raise Invalid(
            "invalid_access",
            "Say whose jobs the node shall run: yours alone, or also others'.",
            hint="Use --owner-only, or --public, --user and --discord.",
        )
    with open_client(given) as client:
        _print(client.set_node_access(_find(client, node).id, SetAccess(wanted)), as_json=as_json)


@app.command()
@configured
def pause(*, given: Given, node: Node, as_json: Json = False) -> None:
    """Give a node nothing more; what it computes just now may end."""
    _change(given, node, ChangeNode(paused=True), as_json=as_json)


@app.command()
@configured
def resume(*, given: Given, node: Node, as_json: Json = False) -> None:
    """Let a paused node go on."""
    _change(given, node, ChangeNode(paused=False), as_json=as_json)


@app.command()
@configured
def limit(
    *,
    given: Given,
    node: Node,
    parallel: Annotated[
        int | None, typer.Argument(min=1, max=1024, metavar="PARALLEL", help="Chunks at a time, at most.")
    ] = None,
    none: Annotated[bool, typer.Option("--none", help="Take the limit away.")] = False,
    as_json: Json = False,
) -> None:
    """Limit how many chunks a node computes at a time."""
    if (parallel is None) != none:
        raise Invalid(
            "invalid_limit", "Say how many chunks at a time.", hint="Give a number, or --none for no limit."
        )
    _change(given, node, ChangeNode(max_parallel=parallel), as_json=as_json)


@app.command()
@configured
def revoke(*, given: Given, node: Node) -> None:
    """Send a node away for good: its key is never let in again."""
    with open_client(given) as client:
        found = _find(client, node)
        client.revoke_node(found.id)
    typer.echo(f"revoked {found.id}")


def _claim(given: Given, code: str) -> None:
    with open_client(given) as client:
        client.claim_node(ClaimNode(code))


def _change(given: Given, node: str, change: ChangeNode, *, as_json: bool) -> None:
    with open_client(given) as client:
        _print(client.change_node(_find(client, node).id, change), as_json=as_json)


def _find(client: Client, given: str) -> NodeView:
    found = [node for node in _all(client) if given in {str(node.id), node.name}]
    if not found:
        raise NotFound(
            "node_not_found", f"You have no node {given}.", hint="'shoal node list' shows those you have."
        )
    by_id = [node for node in found if str(node.id) == given]
    if len(found) > 1 and not by_id:
        raise Conflict(
            "node_ambiguous", f"{len(found)} of your nodes are called {given}.", hint="Name it by its id."
        )
    return (by_id or found)[0]


def _all(client: Client) -> list[NodeView]:
    found: list[NodeView] = []
    cursor: str | None = None
    while True:
        page = client.list_nodes(cursor)
        found += page.nodes
        cursor = page.next
        if cursor is None:
            return found


def _print(node: NodeView, *, as_json: bool) -> None:
    if as_json:
        typer.echo(msgspec.json.encode(node).decode())
        return
    for name, value in {
        "node": node.id,
        "name": node.name,
        "state": node.state,
        "holds": f"{node.backlog} chunks",
        "at a time": "as many as it can" if node.max_parallel is None else f"at most {node.max_parallel}",
        "access": _access(node),
        "engines": ", ".join(node.engines) or "none told yet",
        "machine": " ".join(filter(None, [node.platform, node.version])),
        "last seen": _moment(node),
    }.items():
        typer.echo(f"{name:9} {value}")


def _line(node: NodeView) -> str:
    return f"{node.id}  {node.name:20} {node.state:8} {node.backlog:5}  {_access(node):14} {_moment(node)}"


def _access(node: NodeView) -> str:
    others = [" ".join(filter(None, [one.access_type, one.target_id])) for one in node.access]
    return ", ".join(others) or "owner only"


def _moment(node: NodeView) -> str:
    return f"{node.last_seen_at:%Y-%m-%d %H:%M:%S}" if node.last_seen_at else "never"
