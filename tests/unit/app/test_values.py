"""Values between Python and JSON: msgspec's types, with pydantic's models in them."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from pydantic import BaseModel, ConfigDict, Field

from shoal.app.values import as_json, as_json_values, converted, schema_of


class Ink(BaseModel):
    colour: str


class Page(BaseModel):
    model_config = ConfigDict(strict=True)

    number: int = Field(ge=1)
    printed_at: datetime = Field(alias="printedAt")
    inks: list[Ink] = []


class Book(msgspec.Struct):
    cover: Page
    pages: list[Page]


PAGE = {"number": 1, "printedAt": "2026-01-01T00:00:00Z", "inks": [{"colour": "red"}]}
TYPED = Page(number=1, printedAt=datetime(2026, 1, 1, tzinfo=UTC), inks=[Ink(colour="red")])


def test_json_values_become_models_wherever_they_stand() -> None:
    assert converted(PAGE, Page) == TYPED
    assert converted({"cover": PAGE, "pages": [PAGE]}, Book) == Book(TYPED, [TYPED])


def test_models_become_the_json_they_are_made_from() -> None:
    assert as_json_values(TYPED) == PAGE
    assert msgspec.json.decode(as_json(Book(TYPED, [TYPED]))) == {"cover": PAGE, "pages": [PAGE]}


@pytest.mark.parametrize(
    ("given", "into", "said"),
    [
        ({**PAGE, "number": 0}, Page, "Input should be greater than or equal to 1 - at `number`"),
        ({**PAGE, "inks": [{}]}, Page, "Field required - at `inks.0.colour`"),
        ([], Page, "Input should be an object - at `$`"),
        (
            {"cover": PAGE, "pages": [{}]},
            Book,
            "Field required - at `number`; Field required - at `printedAt`",
        ),
        ({"cover": PAGE}, Book, "missing required field `pages`"),
    ],
)
def test_what_does_not_fit_is_said_in_a_line(given: object, into: Any, said: str) -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        converted(given, into)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "errors.pydantic.dev" not in str(caught.value)


@pytest.mark.parametrize("wanted", [Page, Book, dict[str, Page]])
def test_the_schema_of_a_type_leads_to_everything_it_refers_to(wanted: Any) -> None:
    schema = schema_of(wanted)
    definitions = schema["$defs"]
    assert set(definitions) >= {"Ink"}
    referred = {word for word in as_json(schema).decode().split('"') if word.startswith("#/")}
    assert referred
    assert referred <= {f"#/$defs/{name}" for name in definitions}
    assert as_json(schema).count(b'"$defs":') == 1


def test_what_is_neither_is_refused() -> None:
    class Plain:
        pass

    with pytest.raises(TypeError, match="neither a type msgspec knows nor a pydantic model"):
        schema_of(Plain)
    with pytest.raises(msgspec.ValidationError):
        converted({}, Plain)
    with pytest.raises(TypeError, match="Plain"):
        as_json(Plain())
