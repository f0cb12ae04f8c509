"""Setting chapters as PDF/A: small pages, one embedded serif, page numbers, bookmarks.

Source Serif has Latin, Vietnamese, Greek and Cyrillic letters. What it lacks is written in Latin letters,
so that every name can be read.
"""

import unicodedata
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from anyascii import anyascii
from fpdf import FPDF
from fpdf.fonts import TTFFont
from fpdf.outline import OutlineSection

from examples.storybook.document import Document

FONT_PACKAGE = "font_source_serif_pro"
FONT_FILES = {"": "SourceSerifPro-Regular.ttf", "B": "SourceSerifPro-Semibold.ttf"}

PAGE_MM = (148, 210)
MARGIN_MM = 19
INK, FAINT = 25, 120  # grey levels
COVER_PAGES = 2  # cover and contents
ARCHIVABLE = "PDF/A-2U"


class _Book(FPDF):
    def __init__(self, title: str, people: str, *, unnumbered_pages: int = 0) -> None:
        super().__init__(format=PAGE_MM, enforce_compliance=ARCHIVABLE)
        self._unnumbered_pages = unnumbered_pages
        self.set_title(title)
        self.set_author(people)
        self.set_creator("Shoal storybook")
        self.set_lang("en-GB")
        self.set_margin(MARGIN_MM)
        self.set_auto_page_break(True, MARGIN_MM)
        for style, path in _fonts().items():
            self.add_font("Serif", style, path)
        letters = [frozenset(font.cmap) for font in self.fonts.values() if isinstance(font, TTFFont)]
        self._letters = frozenset.intersection(*letters)

    def footer(self) -> None:
        if self.page_no() > self._unnumbered_pages:
            self.set_y(4 - MARGIN_MM)
            self._say(str(self.page_no()), size=9, grey=FAINT, align="C")

    def set_chapter(self, document: Document) -> None:
        """From the top of the page that is open."""
        self.start_section(self._printable(document.title))
        self.ln(4)
        self._say(f"Chapter {document.number}", size=10, grey=FAINT)
        self._say(document.title, size=24, bold=True)
        self._say(document.people, size=10, grey=FAINT)
        self.ln(3)
        self.set_draw_color(FAINT)
        self.line(self.l_margin, self.y, self.w - self.r_margin, self.y)
        self.ln(6)
        for paragraph in document.paragraphs:
            self._say(paragraph, size=10.5, align="J")
            self.ln(2)

    def set_cover(self, title: str, people: str) -> None:
        """A cover and the contents; opens the page behind them."""
        self.add_page()
        self.set_y(PAGE_MM[1] * 0.36)
        self._say(title, size=25, bold=True, align="C")
        self.ln(5)
        self._say(people, size=13, grey=FAINT, align="C")
        self.add_page()
        self.insert_toc_placeholder(lambda _, outline: self._set_contents(outline), reset_page_indices=False)

    def _set_contents(self, outline: Sequence[OutlineSection]) -> None:
        self._say("Contents", size=18, bold=True)
        self.ln(4)
        for section in outline:
            link = self.add_link(page=section.page_number)
            self._say(section.name, size=11, link=link, keep_line=True)
            self._say(str(section.page_number), size=11, grey=FAINT, align="R")
            self.ln(1.5)

    def _say(
        self,
        text: str,
        *,
        size: float,
        bold: bool = False,
        grey: int = INK,
        align: str = "L",
        link: int | None = None,
        keep_line: bool = False,
    ) -> None:
        self.set_font("Serif", "B" if bold else "", size)
        self.set_text_color(grey)
        self.multi_cell(
            0,
            size * 0.52,
            self._printable(text),
            align=align,
            link=link,
            new_x="LMARGIN",
            new_y="TOP" if keep_line else "NEXT",
        )

    def _printable(self, text: str) -> str:
        composed = unicodedata.normalize("NFC", text)
        return "".join(letter if ord(letter) in self._letters else anyascii(letter) for letter in composed)


def set_chapter(document: Document, target: Path) -> int:
    """Write one chapter as a PDF; returns the number of its pages."""
    book = _Book(document.title, document.people)
    book.add_page()
    book.set_chapter(document)
    book.output(target)
    return book.pages_count


def set_book(title: str, documents: Sequence[Document], target: Path) -> int:
    """Write all chapters as one PDF with a cover and contents; returns the number of its pages."""
    people = documents[0].people
    book = _Book(title, people, unnumbered_pages=COVER_PAGES)
    book.set_cover(title, people)
    for position, document in enumerate(documents):
        if position > 0:
            book.add_page()
        book.set_chapter(document)
    book.output(target)
    return book.pages_count


def _fonts() -> dict[str, Path]:
    folder = Path(str(files(FONT_PACKAGE))) / "files"
    return {style: folder / name for style, name in FONT_FILES.items()}
