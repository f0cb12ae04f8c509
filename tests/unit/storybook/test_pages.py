"""What a reader of PDFs finds in the pages."""

from pathlib import Path

import pytest
from pypdf import PdfReader
from pypdf.generic import DictionaryObject

from examples.storybook.document import Document
from examples.storybook.pages import set_book, set_chapter

from .samples import document


def read(written: Document, folder: Path) -> PdfReader:
    target = folder / "chapter.pdf"
    pages = set_chapter(written, target)
    reader = PdfReader(target)
    assert len(reader.pages) == pages
    return reader


def text_of(reader: PdfReader) -> str:
    """The words in order, however the lines are broken."""
    return " ".join(" ".join(page.extract_text() for page in reader.pages).split())


def test_a_chapter_can_be_read_with_its_title_names_and_page_number(tmp_path: Path) -> None:
    written = document()
    text = text_of(read(written, tmp_path))
    assert text.startswith("Chapter 2 Hunger Zoë Ångström and Łukasz Wójcik")
    assert text.endswith(f"{written.paragraphs[-1]} 1")
    assert all(paragraph in text for paragraph in written.paragraphs)


def test_a_chapter_says_what_it_is_and_that_it_keeps(tmp_path: Path) -> None:
    reader = read(document(), tmp_path)
    about = reader.xmp_metadata
    assert about is not None
    assert about.dc_title == {"x-default": "Hunger"}
    assert about.dc_creator == ["Zoë Ångström and Łukasz Wójcik"]
    stream = reader.trailer["/Root"]["/Metadata"].get_object().get_data()  # type: ignore[index]  # pypdf types every object alike
    assert b"<pdfaid:part>2</pdfaid:part>" in stream


def test_every_font_is_embedded(tmp_path: Path) -> None:
    page = read(document(), tmp_path).pages[0]
    resources = page["/Resources"]
    assert isinstance(resources, DictionaryObject)
    fonts = resources["/Font"]
    assert isinstance(fonts, DictionaryObject)
    for font in fonts.values():
        descriptor = font.get_object()["/DescendantFonts"][0].get_object()["/FontDescriptor"]
        assert "/FontFile2" in descriptor
    assert len(fonts) == 2


@pytest.mark.parametrize("name", ["Nguyễn Thị Ánh", "Ольга Їжак", "Ελένη", "Zoe\u0308 A\u030angstro\u0308m"])
def test_names_of_many_alphabets_stay_as_they_are(name: str, tmp_path: Path) -> None:
    written = document(person1={"name": name})
    composed = name.replace("e\u0308", "ë").replace("A\u030a", "Å").replace("o\u0308", "ö")
    assert composed in text_of(read(written, tmp_path))


def test_a_name_the_font_cannot_write_is_written_in_latin_letters(tmp_path: Path) -> None:
    assert "WangXiaoMing" in text_of(read(document(person1={"name": "王小明"}), tmp_path))


def test_a_very_long_word_does_not_leave_the_page(tmp_path: Path) -> None:
    reader = read(document(1, person1={"name": "W" * 80}, person2={"name": "M" * 80}), tmp_path)
    assert "W" * 80 in "".join(page.extract_text() for page in reader.pages).replace("\n", "")


def test_the_book_has_a_cover_contents_and_bookmarks_that_lead_to_the_chapters(tmp_path: Path) -> None:
    chapters = [document(number) for number in (1, 2, 3)]
    pages = set_book("The Book of Zoë and Łukasz", chapters, tmp_path / "book.pdf")
    reader = PdfReader(tmp_path / "book.pdf")
    texts = [page.extract_text() for page in reader.pages]
    assert len(texts) == pages
    assert "The Book of Zoë" in texts[0]
    for chapter, mark in zip(chapters, reader.outline, strict=True):
        assert not isinstance(mark, list)
        page = reader.get_destination_page_number(mark)
        assert page is not None
        assert texts[page].startswith(f"Chapter {chapter.number}")
        assert chapter.title in texts[page]
        assert f"{chapter.title} {page + 1}" in " ".join(texts[1].split())


def test_no_page_of_the_book_is_empty(tmp_path: Path) -> None:
    set_book("Book", [document(number) for number in (1, 2)], tmp_path / "book.pdf")
    assert all(len(page.extract_text()) > 20 for page in PdfReader(tmp_path / "book.pdf").pages[1:])
