"""The template writer: readable, varied, and the same for the same parameters."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from examples.storybook.document import Document
from examples.storybook.people import System
from examples.storybook.writer import write

from .samples import charts, document

REPOSITORY = Path(__file__).parents[3]
SAID_OF: dict[System, str] = {"vedic": "vedic", "western": "western", "human_design": "human design"}
IN_ANOTHER_PROCESS = """
import sys, msgspec
from tests.unit.storybook.samples import document
sys.stdout.buffer.write(msgspec.json.encode(document(5)))
"""


def book(**changed: object) -> list[Document]:
    return [write(charts(**changed), number) for number in range(1, 17)]


def text_of(written: Document) -> str:
    return "\n".join(written.paragraphs)


def test_the_same_parameters_make_the_same_text_in_every_process() -> None:
    elsewhere = subprocess.run(
        [sys.executable, "-c", IN_ANOTHER_PROCESS],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONHASHSEED": "4711"},
        stdout=subprocess.PIPE,
        check=True,
        timeout=60,
    ).stdout
    assert msgspec.json.decode(elsewhere, type=Document) == document(5)


def test_other_people_get_another_book() -> None:
    mine = book()
    theirs = book(person2={"born": "1991-02-03T04:05:00Z"})
    same = [one for one, other in zip(mine, theirs, strict=True) if one.paragraphs == other.paragraphs]
    assert same == []


def test_a_shorter_book_begins_like_the_whole_one() -> None:
    assert write(charts(chapters=1), 1) == write(charts(chapters=16), 1)


def test_every_chapter_has_a_few_paragraphs_about_both() -> None:
    for chapter in book():
        assert len(chapter.paragraphs) == 5
        assert 150 <= chapter.words <= 300
        assert "Zoë" in text_of(chapter)
        assert "Łukasz" in text_of(chapter)
        assert chapter.people == "Zoë Ångström and Łukasz Wójcik"


def test_no_two_chapters_share_a_paragraph_and_no_place_is_left_unfilled() -> None:
    for month in range(1, 13):
        paragraphs = [
            paragraph
            for chapter in book(person1={"born": f"1988-{month:02}-15T12:00:00Z"})
            for paragraph in chapter.paragraphs
        ]
        assert len(set(paragraphs)) == len(paragraphs)
        assert not [paragraph for paragraph in paragraphs if set("{}") & set(paragraph)]


@pytest.mark.parametrize("system", SAID_OF)
def test_a_book_speaks_of_the_systems_it_was_asked_for_and_of_no_other(system: System) -> None:
    whole = "\n".join(text_of(chapter) for chapter in book(systems=[system])).lower()
    assert {name for name, said in SAID_OF.items() if said in whole} == {system}


def test_every_chapter_speaks_of_all_three_systems() -> None:
    for chapter in book():
        assert [said for said in SAID_OF.values() if said not in text_of(chapter).lower()] == [], (
            chapter.title
        )


def test_people_with_the_same_first_name_are_told_apart() -> None:
    written = document(person1={"name": "Ada King"}, person2={"name": "Ada Quinn"})
    assert "Ada King" in text_of(written)
    assert "Ada Quinn" in text_of(written)


def test_braces_in_a_name_are_only_a_name() -> None:
    assert "{a.__class__}" in text_of(document(person1={"name": "{a.__class__}"}))
