"""The two people most tests write about, and what their parameters look like on the wire."""

from pathlib import Path
from typing import Any

import msgspec

from examples.storybook.charts import Charts, draw_charts
from examples.storybook.document import Document
from examples.storybook.people import NuclearParams
from examples.storybook.writer import write

COUPLE = Path(__file__).parents[3] / "examples" / "storybook" / "couple.json"


def couple(**changed: Any) -> dict[str, Any]:
    """The parameters of the example; ``person1={"name": …}`` changes a part of a person."""
    params: dict[str, Any] = msgspec.json.decode(COUPLE.read_bytes())
    for name, value in changed.items():
        params[name] = {**params[name], **value} if isinstance(value, dict) else value
    return params


def charts(**changed: Any) -> Charts:
    return draw_charts(msgspec.convert(couple(**changed), NuclearParams))


def document(number: int = 2, **changed: Any) -> Document:
    return write(charts(**changed), number)
