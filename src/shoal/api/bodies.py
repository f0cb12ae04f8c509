"""Request bodies: JSON, read strictly.

The usual decoders accept what two readers can understand differently, or what the database cannot
keep; here it is refused before anybody works with it:

* a name that stands twice in an object (the first or the last would count, depending on the reader)
* NaN and Infinity
* NUL characters, which PostgreSQL has no place for, and halves of surrogate pairs
* nesting so deep that a reader runs out of stack
"""

import json
from collections import Counter
from typing import Any, NoReturn

import msgspec
from litestar import Request
from litestar.exceptions import ClientException, InternalServerException

from shoal.api.errors import UnsupportedMedia
from shoal.runtime.errors import Invalid


class JsonRequest(Request[Any, Any, Any]):
    async def body(self) -> bytes:
        try:
            return await super().body()
        except InternalServerException as error:
            # Raised when the client leaves before the end: not our defect, and nobody reads this.
            raise ClientException("The connection ended before the body did.") from error

    async def json(self) -> Any:
        media_type, _ = self.content_type
        if media_type != "application/json":
            raise UnsupportedMedia(
                detail="The body must be JSON, sent with 'Content-Type: application/json'."
            )
        return read_json(await self.body())


def read_json(body: bytes) -> Any:
    try:
        # The hooks cost little and see every object; msgspec would let the last name win.
        value = json.loads(body.decode(), object_pairs_hook=_without_repeats, parse_constant=_not_a_number)
        msgspec.json.encode(value)  # refuses half surrogates
    except UnicodeError:
        raise _invalid("it is not UTF-8") from None
    except RecursionError:
        raise _invalid("it is nested too deeply") from None
    except (ValueError, msgspec.MsgspecError) as error:
        raise _invalid(str(error)) from None
    if b"\\u0000" in body and _has_nul(value):
        raise _invalid("a text in it holds a NUL character")
    return value


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        [(repeated, _)] = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"the name {repeated[:80]!r} stands twice in one object")
    return found


def _not_a_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number in JSON")


def _has_nul(value: object) -> bool:
    if isinstance(value, str):
        return "\0" in value
    if isinstance(value, dict):
        return any(_has_nul(key) or _has_nul(entry) for key, entry in value.items())
    return isinstance(value, list) and any(_has_nul(entry) for entry in value)


def _invalid(why: str) -> Invalid:
    return Invalid(
        "invalid_json",
        f"The body is not valid JSON: {why}.",
        hint="Check it with a JSON tool before sending it.",
    )
