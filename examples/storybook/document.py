"""A chapter once it is written, and how its files are called."""

import msgspec


class Document(msgspec.Struct, frozen=True):
    number: int
    slug: str
    title: str
    people: str
    author: str
    paragraphs: tuple[str, ...]

    @property
    def stem(self) -> str:
        """What the names of its files begin with, so that they sort as they are read."""
        return f"{self.number:02}-{self.slug}"

    @property
    def words(self) -> int:
        return sum(len(paragraph.split()) for paragraph in self.paragraphs)
