"""Running one task: build its input, call it with a time limit, upload what it made."""

import asyncio
import shutil

import msgspec

from shoal.app.context import Artifact, Context
from shoal.app.failures import PermanentFailure
from shoal.app.task import Task
from shoal.app.values import as_json, converted
from shoal.vault.store import Vault
from shoal.worker.held import Claim
from shoal.worker.threads import in_thread

LARGEST_OUTPUT = 65536


class TookTooLong(Exception):
    """The task was stopped at its time limit."""


def new_context(claim: Claim) -> Context:
    return Context(
        job_id=claim.job_id,
        task_id=claim.task_id,
        name=claim.task_name,
        attempt=claim.attempt,
        max_attempts=claim.max_attempts,
        input=claim.input,
        needs=claim.needs or {},
    )


async def call(task: Task, context: Context, timeout_s: float | None) -> str | None:
    """Run the function and return its output as written JSON; None for no output.

    A sync function runs in a thread; when its time is up it is told through ``context.cancelled`` and
    its result is ignored, since a thread cannot be stopped from outside.
    """
    arguments = [context]
    if task.input_type is not None:
        try:
            arguments.append(converted(context.input, task.input_type))
        except msgspec.ValidationError as error:
            raise PermanentFailure(f"the input of {task.type} is not valid: {error}") from error
    running = task.function(*arguments) if task.is_async else in_thread(task.function, *arguments)
    if timeout_s is None:
        return _as_json(task, await running)
    try:
        async with asyncio.timeout(timeout_s) as limit:
            output = await running
    except TimeoutError as error:
        if not limit.expired():  # one of the task's own
            raise
        context.cancelled = True
        raise TookTooLong(f"The task took longer than its limit of {timeout_s:g} s.") from error
    return _as_json(task, output)


def _as_json(task: Task, output: object) -> str | None:
    if output is None:
        return None
    try:
        written = as_json(output)
    except (TypeError, ValueError) as error:
        raise PermanentFailure(f"the output of {task.type} cannot be written as JSON: {error}") from error
    if len(written) + written.count(b",") + written.count(b":") > LARGEST_OUTPUT:  # as jsonb prints it
        raise PermanentFailure(
            f"output_too_large: the output of {task.type} has {len(written)} bytes, at most "
            f"{LARGEST_OUTPUT} are kept; keep large results as artifacts"
        )
    return written.decode()


async def clean_up(context: Context) -> None:
    await asyncio.to_thread(shutil.rmtree, context.workdir, ignore_errors=True)


async def upload(vault: Vault, claim: Claim, artifact: Artifact, *, max_bytes: int) -> dict[str, object]:
    """Store one artifact under a key of this attempt; returns its row for ``add_artifacts``."""
    key = storage_path(claim, artifact)
    stored = await vault.put(key, artifact.source, content_type=artifact.content_type, max_bytes=max_bytes)
    return {
        "name": artifact.name,
        "artifact_type": artifact.type,
        "storage_path": key,
        "content_type": artifact.content_type,
        "file_size_bytes": stored.size,
        "duration_seconds": artifact.duration_seconds,
        "sha256": stored.sha256,
    }


def storage_path(claim: Claim, artifact: Artifact) -> str:
    """``{user}/{job}/{kind}/{attempt}/{name}``: no two attempts ever write to the same place."""
    kind = artifact.type.split("_", 1)[0]
    attempt = f"{claim.task_id}.{claim.token.hex[:8]}"
    return f"{claim.user_id}/{claim.job_id}/{kind}/{attempt}/{artifact.name}"
