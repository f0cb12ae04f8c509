"""Reading the jobs of a batch from a file or from standard input."""

import io
from pathlib import Path

import pytest

from shoal.cli.job_batch import read_batch
from shoal.runtime.errors import Invalid


def test_lines_are_jobs_and_the_type_is_for_those_without_one(tmp_path: Path) -> None:
    file = tmp_path / "jobs.jsonl"
    file.write_text('{"params": {"n": 1}}\n\n{"type": "other"}', encoding="utf-8")

    assert read_batch(str(file), "mine") == [
        {"params": {"n": 1}, "type": "mine"},
        {"type": "other"},
    ]


def test_standard_input_is_read_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'{"type": "a"}\r\n{"type": "b"}\r\n')))
    assert read_batch("-", None) == [{"type": "a"}, {"type": "b"}]


@pytest.mark.parametrize("line", ["nonsense", "[]", "7", '{"type": "a"} {"type": "b"}', '{"type": '])
def test_a_line_that_is_no_object_is_named(tmp_path: Path, line: str) -> None:
    file = tmp_path / "jobs.jsonl"
    file.write_text('{"type": "a"}\n' + line, encoding="utf-8")
    with pytest.raises(Invalid, match="line 2") as caught:
        read_batch(str(file), None)
    assert caught.value.code == "invalid_batch"


@pytest.mark.parametrize("count", [0, 10_001])
def test_it_takes_as_many_as_one_call_may_start(tmp_path: Path, count: int) -> None:
    file = tmp_path / "jobs.jsonl"
    file.write_text('{"type": "a"}\n' * count, encoding="utf-8")
    with pytest.raises(Invalid, match="from 1 to 10,000"):
        read_batch(str(file), None)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match=r"gone\.jsonl cannot be read"):
        read_batch(str(tmp_path / "gone.jsonl"), None)
