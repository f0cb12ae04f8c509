"""Events from the command line, on the real thing: seen, sent to a webhook, refused, told again."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from .shoal_command import Shoal, refused

WITHIN_S = 20.0


class Hook(ThreadingHTTPServer):
    """Remembers what it was told; answers 422 to what is called poison."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Taken)
        self.told: list[dict[str, Any]] = []
        self.refuses = True
        self.url = f"http://127.0.0.1:{self.server_port}/"


class Taken(BaseHTTPRequestHandler):
    server: Hook

    def do_POST(self) -> None:
        event = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        is_refused = self.server.refuses and event["payload"].get("poison")
        if not is_refused:
            self.server.told.append(event)
        self.send_response(422 if is_refused else 204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing: it would be on the terminal of whoever tests."""


@pytest.fixture
def hook() -> Iterator[Hook]:
    with Hook() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + WITHIN_S
    while not holds():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.05)


def test_what_happens_is_seen_and_sent(shoal: Shoal, hook: Hook) -> None:
    shoal.environment["SHOAL_WEBHOOK_NETWORKS"] = "127.0.0.0/8"
    shoal.up("--app", "examples.hello:app")
    added = shoal.json("events", "webhook", hook.url, "--type", "job.*", "--type", "user.*")
    shoal.ok("job", "start", "hello", "--params", '{"names": ["Ann"]}', "--watch")

    seen = [json.loads(line) for line in shoal.ok("events", "tail", "--json").splitlines()]
    assert [event["type"] for event in seen][:1] == ["job.created"]
    assert seen[-1]["type"] == "job.completed"
    assert "job.completed" in shoal.ok("events", "tail", "--from-start", "--type", "job.*")
    until(lambda: hook.told and hook.told[-1]["type"] == "job.completed")
    assert [event["type"] for event in hook.told] == ["job.created", "job.started", "job.completed"]
    assert hook.told[-1]["id"] == seen[-1]["id"]

    (sink,) = [one for one in shoal.json("events", "sinks")["sinks"] if one["name"] == added["name"]]
    assert (sink["kind"], sink["url"], sink["dead"]) == ("webhook", hook.url, 0)

    poison = shoal.json("events", "emit", "user.told", "--payload", '{"poison": true}')["id"]
    until(lambda: shoal.json("events", "dead", "list")["deadLetters"])
    (letter,) = shoal.json("events", "dead", "list")["deadLetters"]
    assert (letter["event"]["id"], letter["sink"]) == (poison, added["name"])
    assert letter["reason"].startswith("It answered 422")
    hook.refuses = False
    assert shoal.ok("events", "dead", "replay", added["name"]) == "1 events\n"
    until(lambda: hook.told[-1]["id"] == poison)

    assert shoal.json("events", "replay", added["name"], "--type", "job.completed") == {"events": 1}
    until(lambda: hook.told[-1]["id"] == seen[-1]["id"])
    shoal.ok("events", "remove", added["name"])
    refused(shoal.run("events", "remove", added["name"]), code="sink_not_found", exit_code=3)
    refused(shoal.run("events", "emit", "job.start"), code="invalid_event_type", exit_code=2)


def test_a_webhook_into_our_own_walls_is_refused_at_once(shoal: Shoal) -> None:
    shoal.up()
    for url in ("http://127.0.0.1:8080/", "https://169.254.169.254/latest", "http://example.org/"):
        refused(shoal.run("events", "webhook", url), code="webhook_not_reachable", exit_code=2)


def test_a_schedule_starts_jobs_by_its_events(shoal: Shoal) -> None:
    shoal.up("--app", "examples.hello:app")
    params = '{"names": ["Ann"]}'
    shoal.ok(
        "schedule", "add", "greet", "--every", "1s", "--job", "hello", "--params", params, "--max-runs", "2"
    )
    until(lambda: len(shoal.json("job", "list", "--type", "hello", "--status", "complete")["jobs"]) == 2)
    lines = shoal.ok("events", "tail", "--json", "--type", "job.start", "--type", "schedule.*").splitlines()
    seen = [json.loads(line) for line in lines]
    assert sorted(event["type"] for event in seen) == [
        "job.start",
        "job.start",
        "schedule.created",
        "schedule.ended",
    ]
    assert {event["payload"]["scheduleName"] for event in seen if event["type"] == "job.start"} == {"greet"}
