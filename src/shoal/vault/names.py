"""The words that end up in paths, URLs and headers: keys, content types, file names. Pure."""

import re
import unicodedata

from shoal.runtime.errors import Invalid

MAX_KEY_BYTES = 768
"""Buckets allow 1024, of which the prefix in the vault's URL takes its share."""
MAX_SEGMENT_BYTES = 255
INCOMING = ".incoming"
"""Where a folder keeps what is not whole yet; no key starts with it."""

_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # noqa: S105 - a token of HTTP, not a password
_CONTENT_TYPE = re.compile(rf"{_TOKEN}/{_TOKEN}(?:[ ]?;[\x20-\x7e]*)?")


def check_key(key: str) -> str:
    """The key itself, or ``Invalid`` when it

    * is empty or too long, as a whole or in one of its segments,
    * has an empty segment (so it neither starts nor ends with ``/``), ``.`` or ``..``,
    * has a backslash, a control character, or half of a surrogate pair,
    * starts with the folder of what is not whole yet.
    """
    if why := _what_is_wrong(key):
        raise Invalid(
            "invalid_object_key",
            f"{_shortened(key)} cannot be the key of an object: {why}.",
            hint="Write segments joined by single slashes, as in: jobs/17/report.pdf.",
        )
    return key


def is_key(key: str) -> bool:
    return _what_is_wrong(key) is None


def check_content_type(content_type: str) -> str:
    if not is_content_type(content_type):
        raise Invalid(
            "invalid_content_type",
            f"{_shortened(content_type)} is not a content type.",
            hint="Write one such as application/pdf or text/plain; charset=utf-8.",
        )
    return content_type


def is_content_type(text: str) -> bool:
    return len(text) <= MAX_SEGMENT_BYTES and _CONTENT_TYPE.fullmatch(text) is not None


def check_filename(filename: str) -> str:
    if not is_filename(filename):
        raise Invalid(
            "invalid_filename",
            f"{_shortened(filename)} cannot be the name of a file.",
            hint="Write a name without slashes and control characters, up to 255 bytes.",
        )
    return filename


def is_filename(text: str) -> bool:
    return "/" not in text and _what_is_wrong(text) is None


def _what_is_wrong(key: str) -> str | None:
    if any(unicodedata.category(character) in {"Cc", "Cs"} for character in key):
        return "it has a control character"
    if "\\" in key:
        return "it has a backslash"
    if len(key.encode()) > MAX_KEY_BYTES:
        return f"it is longer than {MAX_KEY_BYTES} bytes"
    segments = key.split("/")
    if segments[0] == INCOMING:
        return f"{INCOMING} is taken"
    return next(filter(None, map(_what_is_wrong_with_segment, segments)), None)


def _what_is_wrong_with_segment(segment: str) -> str | None:
    if segment in {"", ".", ".."}:
        return f"it has the segment '{segment}'"
    if len(segment.encode()) > MAX_SEGMENT_BYTES:
        return f"a segment is longer than {MAX_SEGMENT_BYTES} bytes"
    return None


def _shortened(text: str) -> str:
    return repr(text if len(text) <= 80 else f"{text[:80]}…")
