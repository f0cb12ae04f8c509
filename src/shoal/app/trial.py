"""A job tried out in this very process: no server, and a clock of its own. For the tests of its author.

::

    trial = try_job(app, "hello", {"name": "Ada"})
    assert trial.status == "complete"
    assert trial.result == "Hello, Ada!"
    assert trial.artifacts["greeting.txt"] == b"Hello, Ada!\\n"

Tasks run one after the other, in the order of the graph, with the attempts they declare. What waits (for
its next attempt, or because it was snoozed) waits by the clock of the trial: ``try_job`` lets as much time
pass as it takes, ``begin_job`` none, until ``advance`` is called. Inputs and outputs go through JSON, as they
do on the way to a worker.
"""

import asyncio
import inspect
import shutil
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

import msgspec

from shoal.app.artifact import Artifact
from shoal.app.context import Context
from shoal.app.declare import App
from shoal.app.failures import PermanentFailure, RetryAfter, Snooze
from shoal.app.fleet_step import computed_here
from shoal.app.graph import Graph, Step
from shoal.app.task import Task
from shoal.app.values import as_json, converted
from shoal.runtime.errors import Invalid
from shoal.wire.fleet_tasks import FleetTask

Ended = Literal["complete", "failed", "cancelled"]

MOST_SNOOZES = 1000
LONGEST_BACKOFF_S = 3600.0


@dataclass
class Trial:
    """How a job goes: per task its state, output, error and attempts; per artifact its bytes.

    ``clock`` is how many seconds have passed since the job was started. A pause between attempts is the
    longest it can be on a worker, where up to half of it is taken off by chance.
    """

    app: App
    graph: Graph
    clock: float = 0.0
    states: dict[str, Ended] = field(default_factory=dict)
    outputs: dict[str, Any] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    attempts: dict[str, int] = field(default_factory=dict)
    artifacts: dict[str, bytes] = field(default_factory=dict)
    _due: dict[str, float] = field(default_factory=dict)
    _snoozes: Counter[str] = field(default_factory=Counter)

    @property
    def status(self) -> Literal["processing", "complete", "failed"]:
        if len(self.states) < len(self.graph.steps):
            return "processing"
        return "failed" if "failed" in self.states.values() else "complete"

    @property
    def result(self) -> Any:
        return self.outputs.get(self.graph.result or "")

    @property
    def waiting(self) -> dict[str, float]:
        """The tasks that wait for their time, and in how many seconds it comes."""
        return {name: due - self.clock for name, due in self._due.items()}

    def advance(self, seconds: float) -> None:
        """Let time pass, and run what is due on the way, when it is due."""
        until = self.clock + seconds
        self._run_what_is_due()
        while self._due and min(self._due.values()) <= until:
            self.clock = min(self._due.values())
            self._run_what_is_due()
        self.clock = until

    def finish(self) -> None:
        """Let as much time pass as it takes."""
        self._run_what_is_due()
        while self._due:
            self.advance(min(self.waiting.values()))

    def _run_what_is_due(self) -> None:
        has_changed = True
        while has_changed:
            has_changed = False
            for step in self.graph.steps:
                if self._is_next(step):
                    has_changed = True
                    self._due.pop(step.name, None)
                    ended = _end_without_running(self, step) or self._try(step)
                    if ended is not None:
                        self.states[step.name] = ended

    def _is_next(self, step: Step) -> bool:
        return (
            step.name not in self.states
            and all(need in self.states for need in step.needs)
            and self._due.get(step.name, self.clock) <= self.clock
        )

    def _try(self, step: Step) -> Ended | None:
        """One attempt; None when another one is to come."""
        attempt = self.attempts.get(step.name, 0) + 1
        try:
            if step.executor == "fleet":
                _compute(self, step)
            else:
                _attempt(self, step, self.app.tasks[step.task_type], attempt)
        except Snooze as snooze:
            self._snooze(step, snooze)
            return None
        except Exception as error:  # noqa: BLE001 - whatever a task raises is its failure
            self.attempts[step.name] = attempt
            self.errors[step.name] = f"{type(error).__name__}: {error}"
            if isinstance(error, PermanentFailure) or attempt == step.max_attempts:
                return "failed"
            self._due[step.name] = self.clock + _pause(step, attempt, error)
            return None
        self.attempts[step.name] = attempt
        self.errors.pop(step.name, None)
        return "complete"

    def _snooze(self, step: Step, snooze: Snooze) -> None:
        self._snoozes[step.name] += 1
        if self._snoozes[step.name] > MOST_SNOOZES:
            raise Invalid(
                "snoozed_for_ever",
                f"Task {step.name!r} was snoozed {self._snoozes[step.name]} times: {snooze}.",
                hint="Let what it waits for be there.",
            ) from snooze
        self._due[step.name] = self.clock + snooze.seconds


def begin_job(app: App, job_type: str, params: object = None, *, starts_in: float = 0.0) -> Trial:
    """Plan the job, and run what can run before any time has passed; nothing does before ``starts_in``.

    A job or graph that is not valid raises, as it is refused.
    """
    trial = Trial(app, app.declared(job_type).plan(_through_json({} if params is None else params)))
    for step in trial.graph.steps:
        if step.executor == "worker" and step.task_type not in app.tasks:
            raise Invalid("invalid_graph", f"The app declares no task {step.task_type!r}.")
        if starts_in > 0 and not step.needs:
            trial._due[step.name] = starts_in  # noqa: SLF001 - it is ours
    trial.advance(0)
    return trial


def try_job(app: App, job_type: str, params: object = None) -> Trial:
    """Plan the job and run it to its end."""
    trial = begin_job(app, job_type, params)
    trial.finish()
    return trial


def _end_without_running(trial: Trial, step: Step) -> Ended | None:
    """What the failure of a task it needs means for this one; None when it runs."""
    missing = [need for need in step.needs if trial.states[need] != "complete"]
    if not missing or step.on_failure == "ignore":
        return None
    trial.errors[step.name] = "A task it needs did not complete."
    failed = any(trial.states[need] == "failed" for need in missing)
    return "failed" if failed and step.on_failure == "fail" else "cancelled"


def _pause(step: Step, attempt: int, error: Exception) -> float:
    if isinstance(error, RetryAfter):
        return error.seconds
    return min(step.backoff_s * 2.0 ** (attempt - 1), LONGEST_BACKOFF_S)


def _compute(trial: Trial, step: Step) -> None:
    task = msgspec.convert(step.input, FleetTask)
    trial.outputs[step.name] = computed_here(trial.app.engines, task, trial.outputs)


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
