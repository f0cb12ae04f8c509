"""Text that PostgreSQL can store: it knows no U+0000, and UTF-8 knows no half surrogates."""


def storable(text: str) -> str:
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode("utf-8")
