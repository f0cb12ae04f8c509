"""A job tried out in this very process: no server, no clock, no waiting. For the tests of its author.

::

    trial = try_job(app, "hello", {"name": "Ada"})
    assert trial.status == "complete"
    assert trial.result == "Hello, Ada!"
    assert trial.artifacts["greeting.txt"] == b"Hello, Ada!\\n"

Tasks run one after the other, in the order of the graph, with the attempts they declare and without
the pauses in between; one that is snoozed runs again at once. Inputs and outputs go through JSON, as they
do on the way to a worker.
"""

import asyncio
import inspect
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

import msgspec

from shoal.app.artifact import Artifact
from shoal.app.context import Context
from shoal.app.declare import App
from shoal.app.failures import PermanentFailure, Snooze
from shoal.app.graph import Graph, Step
from shoal.app.task import Task
from shoal.app.values import as_json, converted
from shoal.runtime.errors import Invalid

Ended = Literal["complete", "failed", "cancelled"]

MOST_SNOOZES = 100


@dataclass
class Trial:
    """How a job went: per task its state, output, error and attempts; per artifact its bytes."""

    graph: Graph
    status: Ended = "complete"
    states: dict[str, Ended] = field(default_factory=dict)
    outputs: dict[str, Any] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    attempts: dict[str, int] = field(default_factory=dict)
    artifacts: dict[str, bytes] = field(default_factory=dict)

    @property
    def result(self) -> Any:
        return self.outputs.get(self.graph.result or "")


def try_job(app: App, job_type: str, params: object = None) -> Trial:
    """Plan the job and run its tasks. A job or graph that is not valid raises, as it is refused."""
    trial = Trial(app.declared(job_type).plan(_through_json({} if params is None else params)))
    for step in trial.graph.steps:
        if step.task_type not in app.tasks:
            raise Invalid("invalid_graph", f"The app declares no task {step.task_type!r}.")
        ended = _end_without_running(trial, step)
        trial.states[step.name] = ended or _run(trial, step, app.tasks[step.task_type])
    if "failed" in trial.states.values():
        trial.status = "failed"
    return trial


def _end_without_running(trial: Trial, step: Step) -> Ended | None:
    """What the failure of a task it needs means for this one; None when it runs."""
    missing = [need for need in step.needs if trial.states[need] != "complete"]
    if not missing or step.on_failure == "ignore":
        return None
    trial.errors[step.name] = "A task it needs did not complete."
    failed = any(trial.states[need] == "failed" for need in missing)
    return "failed" if failed and step.on_failure == "fail" else "cancelled"


def _run(trial: Trial, step: Step, task: Task) -> Ended:
    snoozes = 0
    attempt = 1
    while attempt <= step.max_attempts:
        trial.attempts[step.name] = attempt
        try:
            _attempt(trial, step, task, attempt)
        except Snooze as snooze:
            snoozes += 1
            if snoozes > MOST_SNOOZES:
                raise Invalid(
                    "snoozed_for_ever",
                    f"Task {step.name!r} was snoozed {snoozes} times in a row: {snooze}.",
                    hint="In a trial no time passes: let what it waits for be there.",
                ) from snooze
        except Exception as error:  # noqa: BLE001 - whatever a task raises is its failure
            trial.errors[step.name] = f"{type(error).__name__}: {error}"
            if isinstance(error, PermanentFailure):
                break
            attempt += 1
        else:
            trial.errors.pop(step.name, None)
            return "complete"
    return "failed"


def _attempt(trial: Trial, step: Step, task: Task, attempt: int) -> None:
    context = Context(
        job_id=uuid4(),
        task_id=uuid4(),
        name=step.name,
        attempt=attempt,
        max_attempts=step.max_attempts,
        input=_through_json(step.input),
        needs={need: trial.outputs.get(need) for need in step.needs},
    )
    try:
        trial.outputs[step.name] = _through_json(_call(task, context))
        trial.artifacts |= {one.name: _bytes_of(one) for one in context.artifacts}
    finally:
        if context.used("workdir"):
            shutil.rmtree(context.workdir, ignore_errors=True)


def _call(task: Task, context: Context) -> object:
    arguments: list[Any] = [context]
    if task.input_type is not None:
        arguments.append(converted(context.input, task.input_type))
    output = task.function(*arguments)
    return asyncio.run(_awaited(output)) if inspect.isawaitable(output) else output


async def _awaited(output: Any) -> object:
    result: object = await output
    return result


def _bytes_of(artifact: Artifact) -> bytes:
    source = artifact.source
    if isinstance(source, bytes):
        return source
    if isinstance(source, Path):
        return source.read_bytes()

    async def read() -> bytes:
        return b"".join([block async for block in source])

    return asyncio.run(read())


def _through_json(value: object) -> Any:
    return msgspec.json.decode(as_json(value))
