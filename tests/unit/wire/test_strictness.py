"""What comes in is refused when it holds what nobody knows; what goes out is named as clients know it."""

from typing import Any

import msgspec
import pytest

import shoal.wire.jobs
from shoal.wire.jobs import Cancel, Progress, StartJob
from shoal.wire.problems import problem_type


def decode(kind: Any, text: str) -> Any:
    return msgspec.json.decode(text, type=kind)


def test_starting_a_job_needs_no_more_than_its_type() -> None:
    start = decode(StartJob, '{"type": "hello"}')
    assert (start.type, start.params, start.priority, start.unique_key, start.run_at) == (
        "hello",
        {},
        0,
        None,
        None,
    )


@pytest.mark.parametrize(
    "body",
    [
        "{}",
        '{"type": 1}',
        '{"type": "hello", "priorty": 1}',
        '{"type": "hello", "unique_key": "x"}',
        '{"type": "hello", "priority": 101}',
        '{"type": "hello", "priority": -101}',
        '{"type": "hello", "uniqueKey": ""}',
        '{"type": "hello", "onConflict": "both"}',
        '{"type": "hello", "runAt": "2026-01-01T00:00:00"}',
        '{"type": "hello", "userId": "ann"}',
        '{"type": "hello", "params": []}',
        "[]",
        "",
    ],
)
def test_a_start_that_is_not_understood_is_refused(body: str) -> None:
    with pytest.raises((msgspec.ValidationError, msgspec.DecodeError)):
        decode(StartJob, body)


def test_a_cancel_may_say_why_and_nothing_else() -> None:
    assert decode(Cancel, "{}").reason
    with pytest.raises(msgspec.ValidationError):
        decode(Cancel, '{"why": "x"}')


def test_names_are_camel_case_on_the_wire() -> None:
    progress = Progress(percent=1, phase="p", docs_complete=2, docs_total=3, message="")
    assert msgspec.json.decode(msgspec.json.encode(progress)) == {
        "percent": 1,
        "phase": "p",
        "docsComplete": 2,
        "docsTotal": 3,
        "message": "",
    }


def test_every_view_has_a_schema_and_names_in_camel_case() -> None:
    views: list[type[msgspec.Struct]] = [
        kind
        for kind in vars(shoal.wire.jobs).values()
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct)
    ]
    assert views
    for view in views:
        msgspec.json.schema(view)
        assert all("_" not in field.encode_name for field in msgspec.structs.fields(view))


def test_a_problem_has_a_name_of_its_own() -> None:
    assert problem_type("job_exists") == "urn:shoal:problem:job_exists"
