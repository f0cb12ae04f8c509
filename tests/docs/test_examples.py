"""What the pages show as code is run."""

import ast
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.architecture.repository import ROOT, name_of
from tests.integration.cli.shoal_command import Shoal

from .pages import DOCS, FENCE, Example, all_examples, markdown_files, write_examples

TUTORIAL = DOCS / "tutorial" / "first-job.md"
PYTHON_EXAMPLES = [example for example in all_examples() if example.language == "python"]
TEST_YOUR_JOBS = DOCS / "how-to" / "test-your-jobs.md"
WRITE_A_TASK = DOCS / "how-to" / "write-a-task.md"


@pytest.fixture
def shoal(tmp_path: Path) -> Iterator[Shoal]:
    """The command as a reader runs it, in a folder with the files of a page."""
    with tempfile.TemporaryDirectory(prefix="shoal-") as folder:
        command = Shoal(Path(folder) / "data", environment={"PYTHONPATH": str(tmp_path)})
        yield command
        if command.data_dir.is_dir():
            command.run("down")


def identity_of(example: Example) -> str:
    return f"{name_of(example.page)}:{example.file}"


@pytest.mark.parametrize("example", all_examples(), ids=identity_of)
def test_an_example_that_is_a_file_of_the_repository_is_that_file(example: Example) -> None:
    file = ROOT / example.file
    if file.is_file():
        assert example.text == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("example", PYTHON_EXAMPLES, ids=identity_of)
def test_a_python_example_runs(example: Example, tmp_path: Path) -> None:
    write_examples(example.page, tmp_path)  # it may import the others
    file = tmp_path / example.file
    file.write_text(example.text, encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-W", "error", example.file],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("page", markdown_files(), ids=name_of)
def test_python_and_json_blocks_can_be_read(page: Path) -> None:
    readers: dict[str, Callable[[str], object]] = {"python": ast.parse, "json": json.loads}
    for block in FENCE.finditer(page.read_text(encoding="utf-8")):
        if reader := readers.get(block["language"]):
            reader(block["text"])


def test_the_tests_of_the_how_to_pass(tmp_path: Path) -> None:
    write_examples(TEST_YOUR_JOBS, tmp_path)
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "--rootdir",
            str(tmp_path),
            str(tmp_path),
        ],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "4 passed" in run.stdout


def test_the_job_of_the_tutorial_counts_words_and_writes_a_report(shoal: Shoal, tmp_path: Path) -> None:
    write_examples(TUTORIAL, tmp_path)
    shoal.up("--app", "wordcount:app")
    texts = f"@{tmp_path / 'texts.json'}"
    job = shoal.json(
        "job", "start", "wordcount", "--params", texts, "--watch", "--save", str(tmp_path / "out")
    )
    assert (job["status"], job["result"]) == ("complete", 15)
    (kept,) = job["kept"].values()
    assert Path(kept).read_text(encoding="utf-8") == "longer: 12 words\nshort: 3 words\n"
    needs = {task["name"]: set(task["needs"]) for task in shoal.json("job", "tasks", job["id"])["tasks"]}
    assert needs == {"plan": set(), "short": set(), "longer": set(), "report": {"short", "longer"}}


def test_the_tasks_of_the_how_to_fail_as_it_says(shoal: Shoal, tmp_path: Path) -> None:
    write_examples(WRITE_A_TASK, tmp_path)
    shoal.up("--app", "album:app")
    photos = json.dumps({"photos": [{"name": "sea"}, {"name": "none", "width": 0}]})
    done = shoal.run("job", "start", "album", "--params", photos, "--watch", "--json")
    job = json.loads(done.stdout)
    assert (done.returncode, job["status"], job["error"]) == (1, "failed", "none has no width")
    assert [artifact["name"] for artifact in job["artifacts"]] == ["sea.txt"]
    tasks = {task["name"]: task for task in shoal.json("job", "tasks", job["id"])["tasks"]}
    assert (tasks["none"]["status"], tasks["none"]["attempts"]) == ("failed", 1)
    assert (tasks["bind"]["status"], tasks["bind"]["attempts"]) == ("complete", 2)
    assert "drawing photo=sea" in shoal.ok("job", "logs", job["id"])
