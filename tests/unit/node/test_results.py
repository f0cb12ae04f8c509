"""A result that was kept is there, whatever became of the node."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from shoal.node.results import KeptResult, ResultStore
from shoal.runtime.durable import UNFINISHED

KEEPER = """
import sys
from pathlib import Path
from shoal.node.results import KeptResult, ResultStore

store = ResultStore(Path(sys.argv[1]), most=100_000)
for number in range(100_000):
    store.keep(KeptResult(f"task.{number}.1", {"values": ["x" * 20_000]}))
    print(number, flush=True)
"""


def result(number: int, value: object = None) -> KeptResult:
    return KeptResult(f"task.{number}.1", {"values": [value]})


def test_what_was_kept_is_there_for_the_next_node_until_it_is_forgotten(tmp_path: Path) -> None:
    store = ResultStore(tmp_path / "results", most=10)
    moments = KeptResult("task.7.2", {"meanDps": 2.0})
    store.keep(moments)
    store.keep(result(1, {"a": [1.5]}))
    assert ResultStore(tmp_path / "results", most=10).kept == store.kept == [moments, result(1, {"a": [1.5]})]
    store.forget("task.7.2")
    store.forget("task.8.1")
    assert ResultStore(tmp_path / "results", most=10).kept == [result(1, {"a": [1.5]})]


def test_the_oldest_go_when_there_are_too_many(tmp_path: Path) -> None:
    store = ResultStore(tmp_path, most=3)
    for number in range(5):
        store.keep(result(number))
    assert store.kept == [result(2), result(3), result(4)]
    assert len(list(tmp_path.iterdir())) == 3


def test_an_id_makes_no_path(tmp_path: Path) -> None:
    store = ResultStore(tmp_path / "results", most=3)
    store.keep(KeptResult("../../escaped", {}))
    assert [file.parent.name for file in tmp_path.rglob("*.json")] == ["results"]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"chunkId": 1}', b"\xff"])
def test_a_file_that_is_no_result_is_removed(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "broken.json").write_bytes(content)
    assert ResultStore(tmp_path, most=3).kept == []
    assert list(tmp_path.iterdir()) == []


def test_what_somebody_died_writing_is_removed(tmp_path: Path) -> None:
    (tmp_path / f".half{UNFINISHED}").write_bytes(b"{")
    ResultStore(tmp_path, most=3).keep(result(1))
    assert {file.suffix for file in tmp_path.iterdir()} == {".json"}


def test_no_kept_result_is_lost_to_kill_9(tmp_path: Path) -> None:
    keeper = subprocess.Popen(
        [sys.executable, "-c", KEEPER, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert keeper.stdout is not None
    with keeper.stdout:
        for _ in range(25):
            said = keeper.stdout.readline()
        os.kill(keeper.pid, signal.SIGKILL)
        last = int((said + keeper.stdout.read()).split()[-1])
    keeper.wait()
    kept = {one.chunk_id for one in ResultStore(tmp_path, most=100_000).kept}
    assert kept >= {f"task.{number}.1" for number in range(last + 1)}
