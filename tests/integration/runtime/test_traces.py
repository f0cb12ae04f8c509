"""Traces arrive at a real receiver of OTLP over HTTP, when there is one; else nothing of them runs."""

import gzip
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from shoal.runtime.errors import Invalid
from shoal.runtime.traces import TraceSettings, configure_traces

# A process has one tracer provider in its life, so each test has a process.
PROGRAM = """
import sys
from shoal.runtime.traces import TraceSettings, configure_traces, span
configure_traces(TraceSettings(otlp_endpoint=sys.argv[1]), role="worker")
with span("claim", tasks=3):
    with span("run"):
        pass
print("opentelemetry.sdk" in sys.modules)
"""


class Receiver:
    """It takes what is posted to it and keeps it, decoded."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, ExportTraceServiceRequest]] = []
        received = self.requests

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                received.append((self.path, ExportTraceServiceRequest.FromString(body)))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Quietly."""

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.close()


def run(endpoint: str) -> str:
    clean = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, endpoint], capture_output=True, text=True, check=True, env=clean
    )
    return ran.stdout.strip()


@pytest.mark.parametrize("ending", ["", "/"])
def test_what_was_traced_arrives_before_the_process_ends(receiver: Receiver, ending: str) -> None:
    run(receiver.url + ending)

    assert {path for path, _ in receiver.requests} == {"/v1/traces"}
    parts = [part for _, request in receiver.requests for part in request.resource_spans]
    (service,) = {
        attribute.value.string_value
        for part in parts
        for attribute in part.resource.attributes
        if attribute.key == "service.name"
    }
    assert service == "shoal-worker"
    scopes = [scope for part in parts for scope in part.scope_spans]
    assert {scope.scope.name for scope in scopes} == {"shoal"}
    spans = {span.name: span for scope in scopes for span in scope.spans}
    assert set(spans) == {"claim", "run"}
    assert spans["run"].parent_span_id == spans["claim"].span_id
    assert spans["run"].trace_id == spans["claim"].trace_id
    assert [(one.key, one.value.int_value) for one in spans["claim"].attributes] == [("tasks", 3)]


def test_without_an_endpoint_nothing_is_loaded() -> None:
    assert run("") == "False"


def test_without_the_sdk_an_endpoint_is_refused_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace.export", None)  # importing it now fails

    with pytest.raises(Invalid) as refused:
        configure_traces(TraceSettings(otlp_endpoint="http://127.0.0.1:1"), role="worker")

    assert refused.value.code == "tracing_not_installed"
    assert "shoal[tracing]" in refused.value.hint
