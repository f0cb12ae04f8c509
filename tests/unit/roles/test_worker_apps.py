"""What a worker is told to run, and what it is told when that cannot be."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from shoal.roles.worker_apps import load_apps
from shoal.runtime.errors import ShoalError

APP = """
from shoal import App, Graph
app = App()
"""
TASK = """
@app.task({0!r})
def {0}(context): ...
"""
JOB = """
@app.job({0!r})
def job_{0}(params) -> Graph: ...
"""


class Folder:
    """Modules a worker may be told to import."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def has(self, module: str, text: str) -> None:
        (self._path / f"{module}.py").write_text(text)

    def has_app(self, module: str, *, tasks: str = "", jobs: str = "") -> None:
        declared = [TASK.format(name) for name in tasks.split()] + [JOB.format(name) for name in jobs.split()]
        self.has(module, APP + "".join(declared))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Folder]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    known = set(sys.modules)
    yield Folder(tmp_path)
    for module in set(sys.modules) - known:
        del sys.modules[module]


def refusal(*references: str, types: tuple[str, ...] = ()) -> ShoalError:
    with pytest.raises(ShoalError) as refused:
        load_apps(references, types)
    return refused.value


def test_apps_are_joined_into_one(folder: Folder) -> None:
    folder.has_app("one", tasks="write", jobs="book")
    folder.has_app("two", tasks="speak", jobs="tape")

    app = load_apps(["one:app", "two:app"])

    assert set(app.tasks) == {"write", "speak"}
    assert set(app.jobs) == {"book", "tape"}


def test_an_app_that_is_named_twice_is_one(folder: Folder) -> None:
    folder.has_app("one", tasks="write", jobs="book")
    folder.has("alias", "from one import app as same")

    assert set(load_apps(["one:app", "alias:same"]).tasks) == {"write"}


@pytest.mark.parametrize("kind", ["task", "job"])
def test_a_type_of_two_apps_is_refused_and_both_are_named(folder: Folder, kind: str) -> None:
    for module in ("one", "two"):
        folder.has_app(module, **{f"{kind}s": "same"})

    error = refusal("one:app", "two:app")

    assert error.code == "declared_by_two_apps"
    assert f"The {kind} type 'same'" in error.message
    assert "one:app" in error.message
    assert "two:app" in error.message


def test_only_the_named_types_are_left(folder: Folder) -> None:
    folder.has_app("one", tasks="write draw", jobs="book")
    folder.has_app("two", tasks="speak", jobs="tape")

    app = load_apps(["one:app", "two:app"], ["draw", "plan:tape"])

    assert list(app.tasks) == ["draw"]
    assert list(app.jobs) == ["tape"]


def test_a_type_that_nobody_declares_is_refused_with_the_one_that_was_meant(folder: Folder) -> None:
    folder.has_app("one", tasks="write", jobs="book")

    near = refusal("one:app", types=("wriet",))
    far = refusal("one:app", types=("xylophone",))

    assert near.code == far.code == "task_type_not_declared"
    assert near.hint == "Did you mean write?"
    assert far.hint == "There are: plan:book, write."


@pytest.mark.parametrize("reference", ["one", ":app", "one:"])
def test_a_reference_says_how_it_is_written(folder: Folder, reference: str) -> None:
    assert refusal(reference).code == "app_reference_malformed"


@pytest.mark.parametrize("reference", ["absent:app", "absent.inner:app", "one:nothing", "one:App"])
def test_an_app_that_is_not_there(folder: Folder, reference: str) -> None:
    folder.has_app("one")

    assert refusal(reference).code == "app_not_found"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("import no_such_library", "No module named 'no_such_library'"),
        ("from shoal import Nothing", "cannot import name 'Nothing'"),
        ("1 / 0", "ZeroDivisionError"),
        ("def", "SyntaxError"),
    ],
)
def test_an_app_that_breaks_when_it_is_imported_says_how(folder: Folder, text: str, why: str) -> None:
    folder.has("broken", text)

    error = refusal("broken:app")

    assert error.code == "app_not_importable"
    assert why in error.message


def test_a_wrong_declaration_is_its_own_error(folder: Folder) -> None:
    folder.has_app("one", tasks="write write")

    assert refusal("one:app").code == "invalid_declaration"
