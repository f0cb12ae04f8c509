"""The graph a job is: tasks in an order in which each only needs earlier ones, so that no cycle can be."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from shoal.app.task import Task
from shoal.runtime.errors import Invalid

OnFailure = Literal["fail", "skip", "ignore"]


class Step(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One task of a graph, as it is written to the ledger."""

    name: str
    task_type: str
    max_attempts: int
    backoff_s: float
    phase: str | None = None
    input: Any = None
    needs: tuple[str, ...] = ()
    on_failure: OnFailure = "fail"
    timeout_s: float | None = None


@dataclass
class Graph:
    """Built step by step; ``result`` names the step whose output becomes the job's result."""

    steps: list[Step] = field(default_factory=list)
    result: str | None = None

    def add(
        self,
        task: Task,
        input: object = None,  # noqa: A002 - the word users know from the context
        *,
        name: str | None = None,
        needs: Sequence[Step] = (),
        phase: str | None = None,
        on_failure: OnFailure = "fail",
    ) -> Step:
        """Add a task; returns the step, for others to need. Without a name it is called after its type."""
        step = Step(
            name=name or self._free_name(task.type),
            task_type=task.type,
            max_attempts=task.retries + 1,
            backoff_s=task.backoff,
            timeout_s=task.timeout,
            phase=phase or task.phase,
            input=msgspec.to_builtins({} if input is None else input),
            needs=tuple(dict.fromkeys(need.name for need in needs)),
            on_failure=on_failure,
        )
        self._check(step, needs)
        self.steps.append(step)
        self.result = step.name
        return step

    def as_written(self) -> dict[str, object]:
        """The form in which ``plan_job`` takes it."""
        return {"tasks": [msgspec.to_builtins(step) for step in self.steps], "result": self.result}

    def _free_name(self, task_type: str) -> str:
        taken = {step.name for step in self.steps}
        if task_type not in taken:
            return task_type
        number = sum(step.task_type == task_type for step in self.steps) + 1
        while f"{task_type}-{number}" in taken:
            number += 1
        return f"{task_type}-{number}"

    def _check(self, step: Step, needs: Sequence[Step]) -> None:
        own: Mapping[str, Step] = {known.name: known for known in self.steps}
        if step.name in own:
            raise Invalid("invalid_graph", f"Two tasks are named {step.name!r}.", hint="Name one of them.")
        for need in needs:
            if own.get(need.name) is not need:
                raise Invalid(
                    "invalid_graph",
                    f"Task {step.name!r} needs {need.name!r}, which was not added to this graph.",
                    hint="Add what is needed first.",
                )
