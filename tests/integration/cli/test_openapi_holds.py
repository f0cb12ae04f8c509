"""Whatever is sent to the API, valid or not, it answers as its OpenAPI description says.

Schemathesis makes the requests from the description, the same ones every time. In valid ones, some ids are
replaced by those of things that are there, or nothing but 404 would be seen.
"""

import traceback
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import APIOperation, Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    ignored_auth,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from shoal.access.tokens import issue_token
from shoal.local.directory import DataDirectory

from .shoal_command import Shoal

Operation = APIOperation[Any, Any, Any, Any]

EXAMPLES = 25
TIMEOUT_S = 20

# What the test leaves out: links of files carry a proof in a query nobody can guess.
NOT_ASKED = {"/files/{key}"}

JUDGED = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    ignored_auth,
    unsupported_method,
]

once = settings(
    max_examples=EXAMPLES,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


class Known:
    """What is there: a job that is complete, one that waits, and their tasks."""

    def __init__(self, http: httpx.Client) -> None:
        ended = http.post("/api/jobs/start", json={"type": "hello", "params": {"name": "Ada"}}).json()["id"]
        waits = {"type": "hello", "params": {"name": "Bo"}, "runAt": "2999-01-01T00:00:00Z"}
        self.jobs = [ended, http.post("/api/jobs/start", json=waits).json()["id"]]
        self.tasks = [
            task["id"] for job in self.jobs for task in http.get(f"/api/jobs/{job}/tasks").json()["tasks"]
        ]
        self.by_name = {"job_id": self.jobs, "task_id": self.tasks, "type": ["hello"]}


@pytest.fixture
def http(shoal: Shoal) -> Iterator[httpx.Client]:
    url = shoal.up("--app", "examples.hello:app")
    secrets = DataDirectory(shoal.data_dir).secrets()
    token = issue_token(secrets.jwt_secret, secrets.owner_id, timedelta(hours=1))
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(base_url=url, headers=headers, trust_env=False, timeout=TIMEOUT_S) as client:
        yield client


def test_every_answer_is_one_that_is_described(http: httpx.Client) -> None:
    description = http.get("/api/openapi.json").json()
    schema = schemathesis.openapi.from_dict(description)
    known = Known(http)
    wrong: list[str] = []
    for found in schema.get_all_operations():
        assert isinstance(found, Ok), found
        operation = found.ok()
        if operation.path in NOT_ASKED:
            continue
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            try:
                ask(operation, mode, http, known)
            except Unsatisfiable:
                continue  # there is no wrong request where nothing is asked for
            except BaseExceptionGroup as failures:
                wrong += [f"{operation.label}, {mode.value}: {one}" for one in failures.exceptions]
            except AssertionError as failure:
                last = traceback.extract_tb(failure.__traceback__)[-1]  # an assertion may have no words
                wrong.append(f"{operation.label}, {mode.value}: {failure!r} at {last.filename}:{last.lineno}")
    assert not wrong, "\n\n".join(wrong)


def ask(
    operation: APIOperation[Any, Any, Any, Any], mode: GenerationMode, http: httpx.Client, known: Known
) -> None:
    @once
    @given(case=operation.as_strategy(generation_mode=mode), data=st.data())
    def answer(case: Case[Any], data: st.DataObject) -> None:
        for name, values in known.by_name.items() if mode is GenerationMode.POSITIVE else ():
            for place in (case.path_parameters, case.body):
                if isinstance(place, dict) and name in place and data.draw(st.booleans()):
                    place[name] = data.draw(st.sampled_from(values))
        response = case.call(base_url=str(http.base_url), headers=dict(http.headers), timeout=TIMEOUT_S)
        # Of a query, an empty list is not sent at all: what was wrong may be right on the wire.
        judged = [*JUDGED, negative_data_rejection] if operation.body.items else list(JUDGED)
        if response.status_code == httpx.codes.SERVICE_UNAVAILABLE:
            # An answer like others, where it is described: there is no Discord bot here.
            judged.remove(not_a_server_error)
        case.validate_response(response, checks=judged, headers=dict(http.headers))

    answer()
