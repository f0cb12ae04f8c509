"""Embeds: within what Discord takes, and with nothing in them that people could abuse."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.discord import embeds
from shoal.discord.ports import FleetCounts, NodeShown
from shoal.wire.jobs import JobSummary, Progress
from shoal.wire.status import Status, StatusMetrics
from tests.support.discord_double.interactions import problem_with_message

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
STATUSES = ["queued", "processing", "complete", "failed", "cancelled"]
ANY = st.text(max_size=3000)


def job(status: Any = "processing", *, percent: int = 40, **given: Any) -> JobSummary:
    progress = Progress(
        percent=percent,
        phase=given.pop("phase", "drawing"),
        docs_complete=2,
        docs_total=5,
        message=given.pop("message", "page 2"),
    )
    known = {
        "id": UUID(int=7),
        "type": "book",
        "status": status,
        "progress": progress,
        "error": None,
        "priority": 0,
        "unique_key": None,
        "created_at": AT,
        "started_at": AT,
        "finished_at": None,
    }
    return JobSummary(**{**known, **given})


def node(name: str = "attic", *, owner: str = "ann", online: bool = True, **given: Any) -> NodeShown:
    return NodeShown(name=name, owner=owner, is_online=online, **given)


@given(ANY, ANY, ANY, st.sampled_from(STATUSES), st.integers(0, 100))
@settings(max_examples=50, deadline=None)
def test_whatever_people_write_discord_takes_it(
    kind: str, message: str, error: str, status: str, percent: int
) -> None:
    one = job(status, type=kind, message=message, phase=kind, error=error, percent=percent, finished_at=AT)
    nodes = [node(message, owner=str(number)) for number in range(60)]
    for made in (
        embeds.job_embed(one, note="n" * 3000),
        embeds.jobs_embed([one] * 10),
        embeds.nodes_embed(nodes),
        embeds.members_embed(kind, nodes, {str(number): number for number in range(60)}),
        embeds.server_embed(kind, members=5, nodes=nodes, filter_bytes=9, is_fresh=True),
        embeds.linked_embed(error),
        embeds.error_embed(message[:1000], error[:1000]),
    ):
        assert problem_with_message({"embeds": [made]}) is None


@given(ANY)
def test_what_people_write_formats_nothing_and_mentions_nobody(text: str) -> None:
    shown = embeds.plain(text, 500)
    assert "\n" not in shown
    free = [
        sign for place, sign in enumerate(shown) if sign in "*_`~|<@#[" and shown[max(0, place - 1)] != "\\"
    ]
    assert not free


def test_a_job_as_people_see_it() -> None:
    assert embeds.job_embed(job()) == {
        "title": "⚙️ book",
        "color": embeds.BLUE,
        "description": "▰▰▰▰▱▱▱▱▱▱▱▱ **40 %**\n2 of 5 tasks · drawing\npage 2",
        "fields": [
            {"name": "Status", "value": "processing", "inline": True},
            {"name": "Created", "value": "<t:1767323045:R>", "inline": True},
            {"name": "Started", "value": "<t:1767323045:R>", "inline": True},
        ],
        "footer": {"text": "00000000-0000-0000-0000-000000000007"},
    }
    failed = embeds.job_embed(job("failed", error="boom `x`", finished_at=AT))
    assert failed["color"] == embeds.RED
    assert {"name": "Error", "value": "boom \\`x\\`", "inline": False} in failed["fields"]
    assert "page 2" not in failed["description"]


@pytest.mark.parametrize(
    ("percent", "full"), [(-5, 0), (0, 0), (1, 0), (50, 6), (99, 11), (100, 12), (400, 12)]
)
def test_a_bar_is_full_when_it_is_done(percent: int, full: int) -> None:
    assert embeds.bar(percent) == "▰" * full + "▱" * (12 - full)


def test_nothing_yet_says_what_to_do() -> None:
    assert "shoal job start" in embeds.jobs_embed([])["footer"]["text"]
    assert "shoal node run" in embeds.nodes_embed([])["footer"]["text"]
    assert "permissions" in embeds.members_embed("Reef", [], {})["footer"]["text"]


def test_nodes_and_their_people() -> None:
    nodes = [
        node(backlog=3, max_parallel=4),
        node("cellar", online=False, last_seen_at=AT),
        node("shed", owner="bob", is_paused=True),
    ]
    own = embeds.nodes_embed(nodes)
    assert own["description"].splitlines() == [
        "🟢 **attic** 3 chunks · runs 4 at a time",
        "⚫ **cellar** offline · seen <t:1767323045:R>",
        "⏸️ **shed** 0 chunks",
    ]
    assert own["footer"]["text"] == "2 of 3 online"
    people = embeds.members_embed("Reef", nodes, {"ann": 5})
    assert people["description"].splitlines() == [
        "🟢 <@5>: 1 of 2 online",
        "🟢 somebody without a linked account: 1 of 1 online",
    ]
    server = embeds.server_embed("Reef", members=None, nodes=nodes, filter_bytes=None, is_fresh=False)
    values = {one["name"]: one["value"] for one in server["fields"]}
    assert values["Members"] == "not listed yet"
    assert values["Nodes open to them"] == "2 online of 3"
    assert values["Member list"] == "being brought up to date"


def test_status_shows_what_is_away() -> None:
    status = Status(
        status="degraded",
        redis="connected",
        centrifugo="disabled",
        supabase="disconnected",
        vault="connected",
        metrics=StatusMetrics(active_jobs=1234),
    )
    made = embeds.status_embed(status, FleetCounts(nodes=5, online=4, chunks_held=9), latency_ms=12.6)
    assert made["title"] == "Something is away"
    assert "🔴 Database: disconnected" in made["description"]
    assert "13 ms" in made["description"]
    assert [one["value"] for one in made["fields"]] == ["1,234", "4 of 5", "9"]
