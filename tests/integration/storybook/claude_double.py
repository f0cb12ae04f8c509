"""A double of Anthropic's Messages API on loopback: it checks what it is sent as the real one does."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "test-key"
TEXT = "The first paragraph is about {people}.\n\nThe second\none is short."


@dataclass
class Answer:
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    stop_reason: str = "end_turn"
    text: str | None = None


@dataclass
class ClaudeDouble:
    """Gives the answers it was told to give, in order, and then good ones; keeps the requests."""

    url: str = ""
    answers: list[Answer] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def next_answer(self, request: dict[str, Any]) -> Answer:
        with self._lock:
            self.requests.append(request)
            return self.answers.pop(0) if self.answers else Answer()


@contextmanager
def claude_double() -> Iterator[ClaudeDouble]:
    double = ClaudeDouble()
    server = _Server(double)
    double.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield double
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Server(ThreadingHTTPServer):
    def __init__(self, double: ClaudeDouble) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.double = double


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path != "/v1/messages" or "anthropic-version" not in self.headers:
            self._refuse(404, "not_found_error", {})
        elif not self._has_the_key():
            self._refuse(401, "authentication_error", {})
        elif not {"model", "max_tokens", "messages"} <= request.keys():
            self._refuse(400, "invalid_request_error", {})
        else:
            self._answer(request, self.server.double.next_answer(request))

    def _has_the_key(self) -> bool:
        """The SDK sent it in a header of its own until version 1, and sends it as a bearer token since."""
        return KEY in (
            self.headers.get("x-api-key"),
            self.headers.get("authorization", "").removeprefix("Bearer "),
        )

    def _answer(self, request: dict[str, Any], answer: Answer) -> None:
        if answer.status != 200:
            self._refuse(answer.status, "told_to", answer.headers)
            return
        said = json.loads(request["messages"][0]["content"])
        names = " and ".join(person["name"] for person in said["people"])
        text = TEXT.format(people=names) if answer.text is None else answer.text
        message = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": request["model"],
            "content": [{"type": "text", "text": text}],
            "stop_reason": answer.stop_reason,
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
        self._send(200, message, {})

    def _refuse(self, status: int, kind: str, headers: Mapping[str, str]) -> None:
        error = {"type": "error", "error": {"type": kind, "message": f"refused as {kind}"}}
        self._send(status, error, headers)

    def _send(self, status: int, body: dict[str, Any], headers: Mapping[str, str]) -> None:
        written = json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(written)))
        self.end_headers()
        self.wfile.write(written)

    def log_message(self, *_: object) -> None:
        """A test says what it has to say by itself."""
