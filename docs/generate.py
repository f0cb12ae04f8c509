"""Writes the pages of ``docs/reference`` from the code: ``make docs``.

``--check`` writes nothing; it names the pages that would change and exits 1.
"""  # noqa: INP001 - a script, not a module of a package

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from _generate.commands import commands_page
from _generate.errors import errors_page
from _generate.events import events_page
from _generate.http_api import http_api_page
from _generate.metrics import metrics_page
from _generate.schema import schema_page
from _generate.settings import settings_page

REFERENCE = Path(__file__).parent / "reference"

PAGES: dict[str, Callable[[], str]] = {
    "settings.md": settings_page,
    "commands.md": commands_page,
    "errors.md": errors_page,
    "events.md": events_page,
    "http-api.md": http_api_page,
    "metrics.md": metrics_page,
    "schema.md": schema_page,
}


def main() -> int:
    parser = argparse.ArgumentParser(description="Write the generated pages of docs/reference anew.")
    parser.add_argument("--check", action="store_true", help="only say which pages would change")
    is_check = parser.parse_args().check
    changed = [name for name, page in PAGES.items() if write(REFERENCE / name, page(), is_dry=is_check)]
    for name in changed:
        sys.stdout.write(f"{'out of date' if is_check else 'wrote'}: docs/reference/{name}\n")
    if is_check and changed:
        sys.stdout.write("Run 'make docs'.\n")
    return 1 if is_check and changed else 0


def write(file: Path, text: str, *, is_dry: bool) -> bool:
    """Whether the file says something else now."""
    text = text.rstrip() + "\n"
    if file.is_file() and file.read_text(encoding="utf-8") == text:
        return False
    if not is_dry:
        file.write_text(text, encoding="utf-8")
    return True


if __name__ == "__main__":
    raise SystemExit(main())
