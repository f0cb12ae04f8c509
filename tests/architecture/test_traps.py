"""Every trap we know of is guarded by tests, and those tests are there."""

import ast
import re
import tomllib

import pytest

from .repository import ROOT

TESTS = ROOT / "tests"
TRAPS: dict[str, dict[str, list[str]]] = {
    number.replace("-", "."): entry
    for part in tomllib.loads((TESTS / "traps.toml").read_text(encoding="utf-8")).values()
    for number, entry in part.items()
}
MENTION = re.compile(r"\bTraps? (\d+\.\d+)(?: and (\d+\.\d+))?")


def words_by_test() -> dict[str, str]:
    """Each test function as ``traps.toml`` names it, with its docstring."""
    return {
        f"{file.relative_to(TESTS).as_posix()}::{one.name}": ast.get_docstring(one) or ""
        for file in TESTS.rglob("test_*.py")
        for one in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)) and one.name.startswith("test_")
    }


@pytest.mark.parametrize("number", TRAPS)
def test_the_tests_that_guard_a_trap_exist(number: str) -> None:
    guards = TRAPS[number]["tests"]
    assert guards
    assert set(guards) <= set(words_by_test())


def test_a_test_that_names_a_trap_is_listed_with_it() -> None:
    unlisted = [
        (test, number)
        for test, words in words_by_test().items()
        for found in MENTION.finditer(words)
        for number in filter(None, found.groups())
        if test not in TRAPS.get(number, {"tests": []})["tests"]
    ]
    assert not unlisted
