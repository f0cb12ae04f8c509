"""The Markdown files of the repository, and what a test looks for in them.

A code block whose opening line names a file, as in ``python file=shop.py``, is that file. A page may show
one several times while it grows; the last one counts.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from tests.architecture.repository import ROOT, repository_files

DOCS = ROOT / "docs"

FENCE = re.compile(
    r"^```(?P<language>\w*)(?: file=(?P<file>\S+))?\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
INLINE_CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
HEADING = re.compile(r"^#+ (?P<text>.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Example:
    page: Path
    language: str
    file: str
    text: str


def markdown_files() -> list[Path]:
    return [file for file in repository_files() if file.suffix == ".md"]


def examples_of(page: Path) -> list[Example]:
    """All blocks of a page that are files, in order."""
    text = page.read_text(encoding="utf-8")
    return [
        Example(page, block["language"], block["file"], block["text"])
        for block in FENCE.finditer(text)
        if block["file"]
    ]


def all_examples() -> list[Example]:
    return [example for page in markdown_files() for example in examples_of(page)]


def write_examples(page: Path, folder: Path) -> None:
    """The files a reader has at the end of the page."""
    for example in examples_of(page):
        target = folder / example.file
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(example.text, encoding="utf-8")


def links_of(page: Path) -> list[str]:
    prose = INLINE_CODE.sub("", FENCE.sub("", page.read_text(encoding="utf-8")))
    return [link["target"] for link in LINK.finditer(prose)]


def anchors_of(page: Path) -> set[str]:
    """Of headings, as GitHub makes them; it numbers those that come again."""
    anchors: set[str] = set()
    for heading in HEADING.finditer(FENCE.sub("", page.read_text(encoding="utf-8"))):
        text = re.sub(r"[^\w\- ]", "", heading["text"].lower()).replace(" ", "-")
        anchor, number = text, 0
        while anchor in anchors:
            number += 1
            anchor = f"{text}-{number}"
        anchors.add(anchor)
    return anchors
