"""Apps by their references, as in ``examples.hello:app``, for processes that run what they declare."""

import importlib
from collections.abc import Iterator, Sequence

from shoal.app.declare import App


def imported_apps(references: Sequence[str]) -> Iterator[App]:
    for reference in references:
        module, _, attribute = reference.partition(":")
        app: App = getattr(importlib.import_module(module), attribute)
        yield app
