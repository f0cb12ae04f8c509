"""The command line as a client of the API."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal, TypeVar
from urllib.parse import quote, urlsplit
from uuid import UUID

import httpx
import msgspec

from shoal.roles.config import ClientSettings, Given, read_attached_config
from shoal.runtime.answers import refusal, through_proxy
from shoal.runtime.errors import Unauthenticated, Unavailable
from shoal.runtime.settings import Settings
from shoal.wire.beacon import BeaconToken
from shoal.wire.discord import DiscordLink, DiscordLinkCode
from shoal.wire.ended_jobs import DeadLetterPage, Purged
from shoal.wire.events import (
    AddedWebhook,
    Counted,
    Emitted,
    EventDeadLetterPage,
    EventPage,
    SinkPage,
    SinkView,
)
from shoal.wire.jobs import (
    ArtifactPage,
    ArtifactView,
    JobPage,
    JobView,
    LogPage,
    StartedJobs,
    TaskPage,
    TaskView,
)
from shoal.wire.mesh import DataSets, MeshView, PushDataSet, Pushed
from shoal.wire.nodes import ChangeNode, ClaimNode, NodePage, NodeView, SetAccess
from shoal.wire.schedules import Ran, RunPage, SchedulePage, ScheduleView, Upcoming
from shoal.wire.types import JobTypePage, TaskTypes, TaskTypeView

TIMEOUT_S = 30.0
TOKEN_LIFETIME = timedelta(hours=12)

Answer = TypeVar("Answer")


class Client:
    """Calls the API and raises its problems as the errors they stand for."""

    def __init__(self, http: httpx.Client) -> None:
        self._http = http

    def start_job(self, request: dict[str, Any], idempotency_key: str | None) -> JobView:
        headers = {"Idempotency-Key": idempotency_key} if idempotency_key else {}
        return self._call("POST", "/api/jobs/start", JobView, json=request, headers=headers)

    def start_jobs(self, request: dict[str, Any], idempotency_key: str | None) -> StartedJobs:
        headers = {"Idempotency-Key": idempotency_key} if idempotency_key else {}
        return self._call("POST", "/api/jobs/start-batch", StartedJobs, json=request, headers=headers)

    def read_job(self, job_id: UUID) -> JobView:
        return self._call("GET", f"/api/jobs/{job_id}", JobView)

    def list_jobs(self, filters: dict[str, Any]) -> JobPage:
        given = {name: value for name, value in filters.items() if value is not None}
        return self._call("GET", "/api/jobs", JobPage, params=given)

    def cancel_job(self, job_id: UUID, reason: str) -> JobView:
        return self._call("POST", f"/api/jobs/{job_id}/cancel", JobView, json={"reason": reason})

    def retry_job(self, job_id: UUID) -> JobView:
        return self._call("POST", f"/api/jobs/{job_id}/retry", JobView)

    def list_dead_letters(self, filters: dict[str, Any]) -> DeadLetterPage:
        given = {name: value for name, value in filters.items() if value is not None}
        return self._call("GET", "/api/dead-letters", DeadLetterPage, params=given)

    def purge_jobs(self, request: dict[str, Any]) -> Purged:
        return self._call("POST", "/api/jobs/purge", Purged, json=request)

    def add_schedule(self, request: dict[str, Any]) -> ScheduleView:
        return self._call("POST", "/api/schedules", ScheduleView, json=request)

    def list_schedules(self, filters: dict[str, Any]) -> SchedulePage:
        given = {name: value for name, value in filters.items() if value is not None}
        return self._call("GET", "/api/schedules", SchedulePage, params=given)

    def read_schedule(self, schedule_id: UUID) -> ScheduleView:
        return self._call("GET", f"/api/schedules/{schedule_id}", ScheduleView)

    def steer_schedule(
        self, schedule_id: UUID, verb: Literal["pause", "resume"], body: dict[str, Any]
    ) -> ScheduleView:
        return self._call("POST", f"/api/schedules/{schedule_id}/{verb}", ScheduleView, json=body)

    def run_schedule(self, schedule_id: UUID, verb: Literal["run", "backfill"], body: dict[str, Any]) -> Ran:
        return self._call("POST", f"/api/schedules/{schedule_id}/{verb}", Ran, json=body)

    def delete_schedule(self, schedule_id: UUID) -> None:
        answer = self._send("DELETE", f"/api/schedules/{schedule_id}")
        if not answer.is_success:
            raise refusal(answer.status_code, answer.content)

    def list_runs(self, schedule_id: UUID, filters: dict[str, Any]) -> RunPage:
        given = {name: value for name, value in filters.items() if value is not None}
        return self._call("GET", f"/api/schedules/{schedule_id}/runs", RunPage, params=given)

    def list_upcoming(self, schedule_id: UUID, count: int) -> Upcoming:
        path = f"/api/schedules/{schedule_id}/upcoming"
        return self._call("GET", path, Upcoming, params={"count": count})

    def list_tasks(self, job_id: UUID, cursor: str | None) -> TaskPage:
        given = {"cursor": cursor} if cursor else {}
        return self._call("GET", f"/api/jobs/{job_id}/tasks", TaskPage, params=given)

    def list_artifacts(self, job_id: UUID, cursor: str) -> ArtifactPage:
        given = {"cursor": cursor, "limit": 1000}
        return self._call("GET", f"/api/jobs/{job_id}/artifacts", ArtifactPage, params=given)

    def list_logs(self, job_id: UUID, cursor: str | None) -> LogPage:
        given = {"cursor": cursor} if cursor else {}
        return self._call("GET", f"/api/jobs/{job_id}/logs", LogPage, params=given)

    def read_task(self, task_id: UUID) -> TaskView:
        return self._call("GET", f"/api/tasks/{task_id}", TaskView)

    def cancel_task(self, task_id: UUID, reason: str) -> TaskView:
        return self._call("POST", f"/api/tasks/{task_id}/cancel", TaskView, json={"reason": reason})

    def retry_task(self, task_id: UUID) -> TaskView:
        return self._call("POST", f"/api/tasks/{task_id}/retry", TaskView)

    def list_job_types(self, cursor: str | None) -> JobTypePage:
        given = {"cursor": cursor} if cursor else {}
        return self._call("GET", "/api/job-types", JobTypePage, params=given)

    def list_task_types(self) -> TaskTypes:
        return self._call("GET", "/api/task-types", TaskTypes)

    def steer_task_type(
        self, task_type: str, verb: Literal["limit", "pause", "resume"], body: dict[str, Any]
    ) -> TaskTypeView:
        path = f"/api/task-types/{quote(task_type, safe='')}/{verb}"
        return self._call("POST", path, TaskTypeView, json=body)

    def list_nodes(self, cursor: str | None) -> NodePage:
        return self._call("GET", "/api/nodes", NodePage, params={"cursor": cursor} if cursor else {})

    def claim_node(self, request: ClaimNode) -> NodeView:
        return self._call("POST", "/api/nodes/claim", NodeView, json=msgspec.to_builtins(request))

    def change_node(self, node_id: UUID, request: ChangeNode) -> NodeView:
        return self._call("PATCH", f"/api/nodes/{node_id}", NodeView, json=msgspec.to_builtins(request))

    def set_node_access(self, node_id: UUID, request: SetAccess) -> NodeView:
        return self._call("PUT", f"/api/nodes/{node_id}/access", NodeView, json=msgspec.to_builtins(request))

    def revoke_node(self, node_id: UUID) -> None:
        answer = self._send("DELETE", f"/api/nodes/{node_id}")
        if not answer.is_success:
            raise refusal(answer.status_code, answer.content)

    def list_events(self, filters: dict[str, Any]) -> EventPage:
        given = {name: value for name, value in filters.items() if value is not None}
        return self._call("GET", "/api/events", EventPage, params=given)

    def emit_event(self, request: dict[str, Any]) -> Emitted:
        return self._call("POST", "/api/events", Emitted, json=request)

    def add_webhook(self, request: dict[str, Any]) -> AddedWebhook:
        return self._call("POST", "/api/events/webhooks", AddedWebhook, json=request)

    def list_sinks(self) -> SinkPage:
        return self._call("GET", "/api/events/sinks", SinkPage)

    def steer_sink(self, name: str, verb: Literal["pause", "resume"], body: dict[str, Any]) -> SinkView:
        return self._call("POST", f"/api/events/sinks/{quote(name, safe='')}/{verb}", SinkView, json=body)

    def remove_sink(self, name: str) -> None:
        answer = self._send("DELETE", f"/api/events/sinks/{quote(name, safe='')}")
        if not answer.is_success:
            raise refusal(answer.status_code, answer.content)

    def tell_again(
        self,
        name: str,
        what: Literal["replay", "dead-letters/replay", "dead-letters/forget"],
        body: dict[str, Any],
    ) -> Counted:
        return self._call("POST", f"/api/events/sinks/{quote(name, safe='')}/{what}", Counted, json=body)

    def list_event_dead_letters(self, filters: dict[str, Any]) -> EventDeadLetterPage:
        given = {name: value for name, value in filters.items() if value is not None}
        return self._call("GET", "/api/events/dead-letters", EventDeadLetterPage, params=given)

    def make_discord_link_code(self) -> DiscordLinkCode:
        return self._call("POST", "/api/discord/link", DiscordLinkCode)

    def read_discord_link(self) -> DiscordLink:
        return self._call("GET", "/api/discord/link", DiscordLink)

    def remove_discord_link(self) -> None:
        answer = self._send("DELETE", "/api/discord/link")
        if not answer.is_success:
            raise refusal(answer.status_code, answer.content)

    def list_data_sets(self) -> DataSets:
        return self._call("GET", "/api/mesh/data-sets", DataSets)

    def push_data_set(self, request: PushDataSet) -> Pushed:
        return self._call("POST", "/api/mesh/push", Pushed, json=msgspec.to_builtins(request))

    def read_mesh(self) -> MeshView:
        return self._call("GET", "/api/mesh", MeshView)

    def issue_beacon_token(self) -> BeaconToken:
        return self._call("POST", "/api/token", BeaconToken)

    def read_status(self) -> dict[str, Any]:
        """``/status`` answers 503 with the same body when something is disconnected."""
        return msgspec.json.decode(self._send("GET", "/status").content, type=dict[str, Any])

    def download(self, artifact: ArtifactView, target: Path) -> None:
        """Follow a signed link; what arrives must have the size and the hash the ledger knows."""
        digest = hashlib.sha256()
        target.parent.mkdir(parents=True, exist_ok=True)
        with (
            _explained(artifact.url),
            httpx.stream(
                "GET", artifact.url, timeout=TIMEOUT_S, trust_env=through_proxy(artifact.url)
            ) as answer,
            target.open("wb") as file,
        ):
            if answer.status_code != httpx.codes.OK:
                answer.read()
                raise refusal(answer.status_code, answer.content)
            for block in answer.iter_bytes(1 << 20):
                digest.update(block)
                file.write(block)
        if artifact.sha256 and digest.hexdigest() != artifact.sha256:
            target.unlink()
            raise Unavailable("artifact_damaged", f"{artifact.name} did not arrive as it was stored.")

    def _call(self, method: str, path: str, kind: type[Answer], **arguments: Any) -> Answer:
        answer = self._send(method, path, **arguments)
        if not answer.is_success:
            raise refusal(answer.status_code, answer.content)
        return msgspec.json.decode(answer.content, type=kind)

    def _send(self, method: str, path: str, **arguments: Any) -> httpx.Response:
        with _explained(str(self._http.base_url)):
            return self._http.request(method, path, **arguments)


@contextmanager
def open_client(given: Given) -> Iterator[Client]:
    settings = read_attached_config(given)
    url = settings[ClientSettings].api_url
    if not url:
        raise Unavailable(
            "nothing_running",
            "No 'shoal up' is running in the data directory, and no other API is named.",
            hint="Start one with 'shoal up', or set SHOAL_API_URL and SHOAL_TOKEN.",
        )
    headers = {"Authorization": f"Bearer {_token(settings)}"}
    with httpx.Client(base_url=url, headers=headers, timeout=TIMEOUT_S, trust_env=through_proxy(url)) as http:
        yield Client(http)


def _token(settings: Settings) -> str:
    """The token that was given; else one of the local owner, signed with the directory's secret."""
    if given := settings[ClientSettings].token:
        return given
    from shoal.access.tokens import issue_token
    from shoal.local.directory import DataDirectory, LocalSettings

    directory = DataDirectory(settings[LocalSettings].data_dir)
    if not directory.secrets_file.exists():
        raise Unauthenticated(
            "token_missing", "There is no token for this API.", hint="Set SHOAL_TOKEN to a token or a key."
        )
    secrets = directory.secrets()
    return issue_token(secrets.jwt_secret, secrets.owner_id, TOKEN_LIFETIME)


@contextmanager
def _explained(url: str) -> Iterator[None]:
    try:
        yield
    except httpx.HTTPError as error:
        raise Unavailable(
            "api_unreachable",
            f"The API at {urlsplit(url).netloc} does not answer: {error}.",
            hint="'shoal status' and 'shoal doctor' look closer.",
        ) from error
