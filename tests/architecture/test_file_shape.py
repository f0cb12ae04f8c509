"""Files stay small, folders flat, and names say what is inside (STYLE)."""

import ast
import statistics
from pathlib import Path

from .repository import PACKAGE, files_of_package, lines_of, name_of, repository_files

# What breaks a rule and why it may. It only shrinks: an entry that is no longer needed fails its test.
TOO_LONG: set[str] = set()
TOO_DEEP: set[str] = set()
NAMED_AFTER_NOTHING: set[str] = set()
WITH_CODE_IN_INIT: set[str] = {
    "src/shoal/__init__.py",  # what `from shoal import App` finds
}

LONGEST = 500
LONGEST_OF_NINE_IN_TEN = 300
LONGEST_MEDIAN = 120
LONGEST_LUA = 120
DEEPEST = 3
SHORTEST_PACKAGE_DOCSTRING = 3
EMPTY_WORDS = {"utils", "util", "helpers", "helper", "common", "misc", "base", "manager", "managers", "tools"}


def test_no_file_is_too_long() -> None:
    written = [file for file in repository_files() if file.suffix in {".py", ".sql", ".lua", ".ts", ".css"}]
    too_long = {
        name_of(file)
        for file in written
        if lines_of(file) > (LONGEST_LUA if file.suffix == ".lua" else LONGEST)
        and not is_written_by_a_command(file)
    }
    assert too_long == TOO_LONG


def is_written_by_a_command(file: Path) -> bool:
    return file.name == "schema.sql" or "_generated" in file.parts


def test_most_modules_are_small() -> None:
    lengths = sorted(lines_of(file) for file in files_of_package(".py"))

    assert statistics.median(lengths) <= LONGEST_MEDIAN
    assert lengths[int(len(lengths) * 0.9)] <= LONGEST_OF_NINE_IN_TEN


def test_folders_are_at_most_three_deep() -> None:
    folders = {parent for file in files_of_package(".py", ".sql", ".lua") for parent in file.parents}
    too_deep = {
        name_of(folder)
        for folder in folders
        if PACKAGE in folder.parents and len(folder.relative_to(PACKAGE).parts) > DEEPEST
    }
    assert too_deep == TOO_DEEP


def test_every_name_says_something() -> None:
    named = set()
    for file in repository_files():
        for part in Path(name_of(file)).parts:
            if EMPTY_WORDS & set(part.lower().partition(".")[0].replace("-", "_").split("_")):
                named.add(name_of(file))
    assert named == NAMED_AFTER_NOTHING


def test_an_init_holds_a_docstring_only() -> None:
    with_code = {
        name_of(file)
        for file in files_of_package(".py")
        if file.name == "__init__.py" and len(ast.parse(file.read_text(encoding="utf-8")).body) > 1
    }
    assert with_code == WITH_CODE_IN_INIT


def test_every_package_explains_itself() -> None:
    silent = []
    for folder in sorted(PACKAGE.iterdir()):
        init = folder / "__init__.py"
        if init.is_file():
            docstring = ast.get_docstring(ast.parse(init.read_text(encoding="utf-8"))) or ""
            if len(docstring.splitlines()) < SHORTEST_PACKAGE_DOCSTRING:
                silent.append(name_of(init))
    assert silent == []


def test_every_folder_of_modules_is_a_package() -> None:
    """Without an ``__init__.py`` import-linter would not see the folder at all."""
    folders = {file.parent for file in files_of_package(".py")}
    assert [name_of(folder) for folder in sorted(folders) if not (folder / "__init__.py").is_file()] == []
