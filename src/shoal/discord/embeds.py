"""What the bot shows: embeds as Discord's JSON has them, made of plain values.

What people or tasks wrote is shown as plain text: it formats nothing and mentions nobody.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from shoal.discord.ports import FleetCounts, NodeShown
from shoal.wire.jobs import JobSummary
from shoal.wire.status import Status

Embed = dict[str, Any]

BLUE, GREEN, RED, AMBER, GREY = 0x3B82F6, 0x22C55E, 0xEF4444, 0xF59E0B, 0x64748B
LONGEST_VALUE = 1024
LONGEST_DESCRIPTION = 4000
BAR_WIDTH = 12
MOST_NODES_SHOWN = 15
MOST_MEMBERS_SHOWN = 20

SIGNS = {"queued": "🕓", "processing": "⚙️", "complete": "✅", "failed": "❌", "cancelled": "🚫"}
COLOURS = {"queued": GREY, "processing": BLUE, "complete": GREEN, "failed": RED, "cancelled": AMBER}
PARTS = {"connected": "🟢", "disconnected": "🔴", "disabled": "⚪"}


def plain(text: str, most: int = 200) -> str:
    """Text of others, on one line, with nothing in it that Discord would make something of."""
    line = " ".join("".join(one if one.isprintable() else " " for one in text).split())
    short = line if len(line) <= most else f"{line[: most - 1]}…"
    return re.sub(r"([\\*_~`|>\[\]()#@:<-])", r"\\\1", short)


def bar(percent: int) -> str:
    full = max(0, min(BAR_WIDTH, percent * BAR_WIDTH // 100))
    return "▰" * full + "▱" * (BAR_WIDTH - full)


def ago(moment: datetime) -> str:
    """Discord shows it in the reader's own words and zone."""
    return f"<t:{int(moment.timestamp())}:R>"


def job_embed(job: JobSummary, *, note: str = "") -> Embed:
    progress = job.progress
    lines = [f"{bar(progress.percent)} **{progress.percent} %**"]
    if progress.docs_total:
        lines.append(
            f"{progress.docs_complete:,} of {progress.docs_total:,} tasks · {plain(progress.phase, 60)}"
        )
    if progress.message and job.status == "processing":
        lines.append(plain(progress.message))
    fields = [_field("Status", job.status, inline=True), _field("Created", ago(job.created_at), inline=True)]
    if job.finished_at is not None:
        fields.append(_field("Ended", ago(job.finished_at), inline=True))
    elif job.started_at is not None:
        fields.append(_field("Started", ago(job.started_at), inline=True))
    if job.error:
        fields.append(_field("Error", plain(job.error, 900)))
    return _embed(
        f"{SIGNS[job.status]} {plain(job.type, 100)}",
        "\n".join(lines),
        COLOURS[job.status],
        fields=fields,
        footer=f"{job.id}{f' · {note}' if note else ''}",
    )


def jobs_embed(jobs: Sequence[JobSummary]) -> Embed:
    if not jobs:
        return _embed("Your jobs", "You have no jobs yet.", GREY, footer="shoal job start TYPE starts one")
    lines = [
        f"{SIGNS[job.status]} **{plain(job.type, 60)}** {bar(job.progress.percent)} "
        f"{job.progress.percent} % · {ago(job.created_at)}\n`{job.id}`"
        for job in jobs
    ]
    return _embed("Your jobs", "\n".join(lines), BLUE, footer="/job follows one of them")


def nodes_embed(nodes: Sequence[NodeShown]) -> Embed:
    if not nodes:
        return _embed(
            "Your nodes", "You have no nodes yet.", GREY, footer="shoal node run makes this machine one"
        )
    online = sum(node.is_online for node in nodes)
    lines = [_node_line(node) for node in nodes[:MOST_NODES_SHOWN]]
    return _embed(
        "Your nodes",
        "\n".join([*lines, *_more(len(nodes) - len(lines))]),
        GREEN if online else GREY,
        footer=f"{online} of {len(nodes)} online",
    )


def _node_line(node: NodeShown) -> str:
    sign = "⏸️" if node.is_online and node.is_paused else "🟢" if node.is_online else "⚫"
    runs = f" · runs {node.max_parallel} at a time" if node.max_parallel else ""
    state = f"{node.backlog} chunks{runs}" if node.is_online else "offline"
    seen = f" · seen {ago(node.last_seen_at)}" if node.last_seen_at and not node.is_online else ""
    return f"{sign} **{plain(node.name or 'unnamed', 60)}** {state}{seen}"


def members_embed(guild_name: str, nodes: Sequence[NodeShown], accounts: Mapping[str, int]) -> Embed:
    """Who lets the members of this server use their nodes; owners that are not known here are not named."""
    if not nodes:
        return _embed(
            f"Nodes for {plain(guild_name, 100)}",
            "Nobody lets the members of this server use a node yet.",
            GREY,
            footer="Open one of yours to this server's members in its permissions",
        )
    by_owner: dict[str, list[NodeShown]] = {}
    for node in nodes:
        by_owner.setdefault(node.owner, []).append(node)
    ranked = sorted(by_owner.items(), key=lambda one: (-len(one[1]), one[0]))
    lines = []
    for owner, owned in ranked[:MOST_MEMBERS_SHOWN]:
        online = sum(node.is_online for node in owned)
        who = f"<@{accounts[owner]}>" if owner in accounts else "somebody without a linked account"
        lines.append(f"{'🟢' if online else '⚫'} {who}: {online} of {len(owned)} online")
    return _embed(
        f"Nodes for {plain(guild_name, 100)}",
        "\n".join([*lines, *_more(len(ranked) - len(lines))]),
        BLUE,
        footer=f"{len(nodes)} nodes of {len(by_owner)} people",
    )


def server_embed(
    guild_name: str,
    *,
    members: int | None,
    nodes: Sequence[NodeShown],
    filter_bytes: int | None,
    is_fresh: bool,
) -> Embed:
    online = [node for node in nodes if node.is_online]
    known = "not listed yet" if members is None else f"{members:,}"
    fields = [
        _field("Members", known, inline=True),
        _field("Nodes open to them", f"{len(online)} online of {len(nodes)}", inline=True),
        _field("At work", f"{sum(node.backlog for node in online):,} chunks", inline=True),
        _field("Filter", "none" if filter_bytes is None else f"{filter_bytes / 1024:,.1f} KiB", inline=True),
        _field("Member list", "up to date" if is_fresh else "being brought up to date", inline=True),
    ]
    return _embed(plain(guild_name, 100), "", GREEN if online else GREY, fields=fields)


def status_embed(status: Status, counts: FleetCounts, *, latency_ms: float | None) -> Embed:
    parts = {
        "Redis": status.redis,
        "Database": status.supabase,
        "Files": status.vault,
        "Messages": status.centrifugo,
    }
    lines = [f"{PARTS[state]} {name}: {state}" for name, state in parts.items()]
    lines.append("🟢 Discord: connected" + ("" if latency_ms is None else f", {latency_ms:.0f} ms"))
    fields = [
        _field("Jobs at work", f"{status.metrics.active_jobs:,}", inline=True),
        _field("Nodes online", f"{counts.online:,} of {counts.nodes:,}", inline=True),
        _field("Chunks handed out", f"{counts.chunks_held:,}", inline=True),
    ]
    healthy = status.status == "healthy"
    return _embed(
        "All is well" if healthy else "Something is away",
        "\n".join(lines),
        GREEN if healthy else AMBER,
        fields=fields,
    )


def linked_embed(name: str) -> Embed:
    whose = f" **{plain(name, 100)}**" if name else ""
    return _embed(
        "Linked",
        f"This Discord account now belongs to the Shoal user{whose}. Your jobs may run on nodes that are "
        "open to the servers you are in.\n\n"
        "If that is not you, somebody gave you their code: undo it with `/unlink`.",
        GREEN,
    )


def unlinked_embed(*, was_linked: bool) -> Embed:
    text = "This account is not linked any more." if was_linked else "This account was not linked."
    return _embed("Unlinked", text, GREY)


def error_embed(message: str, hint: str = "") -> Embed:
    return _embed("That did not work", "\n\n".join(one for one in (message, hint) if one), RED)


def help_embed(commands: Sequence[tuple[str, str]]) -> Embed:
    lines = [f"**/{name}** {about}" for name, about in commands]
    return _embed("What I can do", "\n".join(lines), BLUE, footer="Answers about you are seen by you alone")


def about_embed(version: str, guilds: int) -> Embed:
    return _embed(
        "Shoal",
        "One dependable workforce out of machines you own, rent, or borrow from strangers. A node can be "
        "open to the members of a Discord server; this bot knows who they are, and reads no messages.",
        BLUE,
        fields=[_field("Version", version, inline=True), _field("Servers", f"{guilds:,}", inline=True)],
    )


def pong_embed(latency_ms: float | None) -> Embed:
    return _embed("Pong", "" if latency_ms is None else f"{latency_ms:.0f} ms to Discord and back.", BLUE)


def _more(count: int) -> list[str]:
    return [f"… and {count} more"] if count > 0 else []


def _field(name: str, value: str, *, inline: bool = False) -> dict[str, object]:
    return {"name": name, "value": value[:LONGEST_VALUE] or "-", "inline": inline}


def _embed(
    title: str,
    description: str,
    color: int,
    *,
    fields: Sequence[Mapping[str, object]] = (),
    footer: str = "",
) -> Embed:
    made: Embed = {"title": title[:256], "color": color}
    if description:
        made["description"] = _whole_lines(description, LONGEST_DESCRIPTION)
    if fields:
        made["fields"] = list(fields)
    if footer:
        made["footer"] = {"text": footer[:2048]}
    return made


def _whole_lines(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return text[:most].rpartition("\n")[0] + "\n…"
