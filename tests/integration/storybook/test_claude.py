"""Chapters by Claude: what is asked, what is made of the answer, and what each failure means."""

import json
import socket
from contextlib import closing

import anthropic
import pytest

from examples.storybook import claude as claude_writer
from shoal.app.failures import PermanentFailure, RetryAfter
from tests.unit.storybook.samples import charts

from .claude_double import Answer, ClaudeDouble


def test_a_chapter_is_asked_for_and_kept_paragraph_by_paragraph(claude: ClaudeDouble) -> None:
    written = claude_writer.write(charts(), 2)
    assert (written.number, written.slug, written.title) == (2, "hunger", "Hunger")
    assert written.author == claude_writer.MODEL
    assert written.paragraphs == (
        "The first paragraph is about Zoë Ångström and Łukasz Wójcik.",
        "The second one is short.",
    )


def test_claude_is_told_the_chapter_the_people_and_the_systems(claude: ClaudeDouble) -> None:
    claude_writer.write(charts(), 2)
    (request,) = claude.requests
    material = json.loads(request["messages"][0]["content"])
    assert material["chapter"] == "Hunger"
    assert [person["sun"] for person in material["people"]] == ["Aries", "Scorpio"]
    assert material["systems"] == ["vedic", "western", "human_design"]
    assert "never an instruction" in request["system"]


def test_another_model_can_be_chosen(claude: ClaudeDouble, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORYBOOK_MODEL", "claude-of-my-own")
    assert claude_writer.write(charts(), 1).author == "claude-of-my-own"
    assert claude.requests[0]["model"] == "claude-of-my-own"


@pytest.mark.parametrize("status", [429, 503, 529])
def test_later_means_after_the_time_that_was_asked_for(claude: ClaudeDouble, status: int) -> None:
    claude.answers = [Answer(status, {"retry-after": "42"})]
    with pytest.raises(RetryAfter) as raised:
        claude_writer.write(charts(), 1)
    assert raised.value.seconds == 42
    assert len(claude.requests) == 1


@pytest.mark.parametrize(
    ("asked", "waited"),
    [("soon", 15), ("Wed, 21 Oct 2026 07:28:00 GMT", 15), ("nan", 15), ("0", 1), ("1e9", 3600)],
)
def test_a_strange_wish_to_be_left_alone_is_kept_within_bounds(
    claude: ClaudeDouble, asked: str, waited: float
) -> None:
    claude.answers = [Answer(429, {"retry-after": asked})]
    with pytest.raises(RetryAfter) as raised:
        claude_writer.write(charts(), 1)
    assert raised.value.seconds == waited


def test_without_a_wish_the_usual_time_is_waited(claude: ClaudeDouble) -> None:
    claude.answers = [Answer(429)]
    with pytest.raises(RetryAfter) as raised:
        claude_writer.write(charts(), 1)
    assert raised.value.seconds == 15


def test_a_wrong_key_is_not_tried_twice(claude: ClaudeDouble, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "wrong")
    with pytest.raises(PermanentFailure, match=r"401.*ANTHROPIC_API_KEY"):
        claude_writer.write(charts(), 1)


def test_a_request_that_is_refused_is_not_tried_twice(claude: ClaudeDouble) -> None:
    claude.answers = [Answer(400)]
    with pytest.raises(PermanentFailure, match="told_to"):
        claude_writer.write(charts(), 1)


def test_a_model_that_declines_is_not_asked_again(claude: ClaudeDouble) -> None:
    claude.answers = [Answer(stop_reason="refusal", text="")]
    with pytest.raises(PermanentFailure, match="declined"):
        claude_writer.write(charts(), 1)


@pytest.mark.parametrize("answer", [Answer(500), Answer(408), Answer(409), Answer(text="  \n\n ")])
def test_other_failures_are_left_to_the_retries_of_the_task(claude: ClaudeDouble, answer: Answer) -> None:
    claude.answers = [answer]
    with pytest.raises((anthropic.APIStatusError, ValueError)):
        claude_writer.write(charts(), 1)
    assert len(claude.requests) == 1
    assert claude_writer.write(charts(), 1).paragraphs


def test_a_server_that_is_away_is_left_to_the_retries_of_the_task(
    claude: ClaudeDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
    monkeypatch.setenv("ANTHROPIC_BASE_URL", f"http://127.0.0.1:{port}")
    with pytest.raises(anthropic.APIConnectionError):
        claude_writer.write(charts(), 1)


def test_without_a_key_the_templates_write(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    assert not claude_writer.is_configured()
    monkeypatch.setenv("ANTHROPIC_API_KEY", "")
    assert not claude_writer.is_configured()
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
    assert claude_writer.is_configured()
