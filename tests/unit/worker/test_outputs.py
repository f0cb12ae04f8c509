"""What a task returns becomes JSON that the ledger keeps; files do not."""

import base64
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal import App
from shoal.app.task import Task
from shoal.runtime.errors import Invalid, ShoalError, TooLarge
from shoal.worker.outputs import LARGEST_OUTPUT, holds_base64, written_output


class Cover(msgspec.Struct):
    picture: bytes


@pytest.fixture(scope="module")
def task() -> Task:
    return App().task("draw")(lambda _: None)


def refusal(task: Task, output: object) -> ShoalError:
    with pytest.raises(ShoalError) as caught:
        written_output(task, output)
    return caught.value


@pytest.mark.parametrize(
    ("output", "written"), [(None, None), (0, "0"), ("", '""'), ({"a": [1]}, '{"a":[1]}')]
)
def test_an_output_is_written_as_json(task: Task, output: object, written: str | None) -> None:
    assert written_output(task, output) == written


@pytest.mark.parametrize(
    "output",
    [b"", [b"x"], {"a": {"b": (1, bytearray(b"x"))}}, {b"x": 1}, Cover(b"x"), {memoryview(b"x")}],
    ids=["bytes", "in a list", "deep inside", "a key", "in a struct", "in a set"],
)
def test_bytes_are_refused_however_deep_they_are(task: Task, output: Any) -> None:
    error = refusal(task, output)
    assert (type(error), error.code) == (Invalid, "output_not_json")
    assert "bytes" in error.message


def test_what_is_too_large_says_how_large_it_is(task: Task) -> None:
    assert written_output(task, "x" * (LARGEST_OUTPUT - 2)) is not None
    error = refusal(task, "x" * (LARGEST_OUTPUT - 1))
    assert (type(error), error.code) == (TooLarge, "output_too_large")


@given(seed=st.integers(0, 2**32))
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode, base64.encodebytes])
def test_a_file_in_base64_is_refused_wherever_it_stands(task: Task, encode: Any, seed: int) -> None:
    text = encode(Random(seed).randbytes(2000)).decode()  # noqa: S311 - no secret
    for output in (text, {"page": [f"data:image/png;base64,{text}"]}):
        assert refusal(task, output).code == "output_has_base64"


@pytest.mark.parametrize(
    "text",
    [
        "All work and no play makes Jack a dull boy. " * 100,
        "ACGT" * 1000,
        "0123456789abcdef" * 500,
        "0123456789ABCDEF" * 500,
        "AbCdEf0123456789" * 500,
        "-" * 5000,
        "https://example.org/a/path?with=query&and=9 " * 50,
        base64.b64encode(b"\0\1\2" * 100).decode(),
    ],
    ids=["prose", "genome", "hex", "HEX", "hEx", "rule", "links", "a short token"],
)
def test_other_long_texts_are_kept(task: Task, text: str) -> None:
    assert written_output(task, [text]) is not None


@given(st.recursive(st.none() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=5)))
def test_what_is_short_is_never_taken_for_a_file(value: object) -> None:
    written = msgspec.json.encode(value)
    assert len(written) > 1024 or not holds_base64(written)
