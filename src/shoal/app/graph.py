"""The graph a job is: tasks in an order in which each only needs earlier ones, so that no cycle can be."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from shoal.app.engine import Engine
from shoal.app.fleet_step import fleet_task
from shoal.app.task import Task
from shoal.app.values import as_json_values
from shoal.runtime.errors import Invalid
from shoal.wire.fleet_tasks import Audience

LONGEST_NAME = 255

OnFailure = Literal["fail", "skip", "ignore"]
Executor = Literal["worker", "fleet"]


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
    priority: int = 0
    executor: Executor = "worker"


class Graph:
    """Built step by step. ``result`` names the step whose output becomes the job's: the last one added,
    unless it is set to another.
    """

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.result: str | None = None
        self._by_name: dict[str, Step] = {}
        self._of_type: Counter[str] = Counter()

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
        self._of_type[task.type] += 1
        step = Step(
            name=name or self._free_name(task.type, task.type),
            task_type=task.type,
            max_attempts=task.retries + 1,
            backoff_s=task.backoff,
            timeout_s=task.timeout,
            phase=phase or task.phase,
            priority=task.priority,
            input=_as_json_values(task, {} if input is None else input),
            needs=tuple(dict.fromkeys(need.name for need in needs)),
            on_failure=on_failure,
        )
        return self._added(step, needs)

    def fleet(
        self,
        engine: Engine,
        config: object = None,
        *,
        iterations: int,
        chunk_size: int | None = None,
        seed: int = 0,
        audience: Audience = "own",
        config_hash: str | None = None,
        config_from: Step | None = None,
        replication: float = 0.0,
        tolerance: float = 0.0,
        name: str | None = None,
        needs: Sequence[Step] = (),
        phase: str | None = None,
        on_failure: OnFailure = "fail",
        priority: int = 0,
    ) -> Step:
        """Add a task that nodes compute: so many iterations of an engine, cut into chunks. Its output is what
        the reducer of the engine makes of them.

        * The config is given here, or by the ``config_hash`` of one that ``PUT /api/configs`` stored, or it
          is the output of an earlier step, ``config_from``.
        * ``audience``: ``own`` nodes alone; ``shared`` also those whose owners let you in; ``public`` also
          those that are open to everybody. Whoever runs it sees the config.
        * ``replication`` is the share of the chunks that nodes of two owners compute, whose numbers must not
          be further apart than ``tolerance``, relative to themselves. A third one decides between them, and
          all that the wrong one did for the task is computed again. It waits until there are two owners.
        """
        task_type = f"fleet:{engine.name}"
        self._of_type[task_type] += 1
        needed = tuple(needs) if config_from is None else (*needs, config_from)
        task = fleet_task(
            engine,
            config,
            iterations=iterations,
            size=chunk_size,
            seed=seed,
            audience=audience,
            config_hash=config_hash,
            config_from=None if config_from is None else config_from.name,
            replication=replication,
            tolerance=tolerance,
        )
        step = Step(
            name=name or self._free_name(task_type, engine.name),
            task_type=task_type,
            executor="fleet",
            max_attempts=1,
            backoff_s=0,
            phase=phase,
            priority=priority,
            input=msgspec.to_builtins(task),
            needs=tuple(dict.fromkeys(need.name for need in needed)),
            on_failure=on_failure,
        )
        return self._added(step, needed)

    def as_written(self) -> dict[str, object]:
        """The form in which ``plan_jobs`` takes it."""
        return {"tasks": [msgspec.to_builtins(step) for step in self.steps], "result": self.result}

    def _added(self, step: Step, needs: Sequence[Step]) -> Step:
        self._check(step, needs)
        self.steps.append(step)
        self._by_name[step.name] = step
        self.result = step.name
        return step

    def _free_name(self, task_type: str, called: str) -> str:
        number = self._of_type[task_type]
        name = called if number == 1 else f"{called}-{number}"
        while name in self._by_name:
            number += 1
            name = f"{called}-{number}"
        return name

    def _check(self, step: Step, needs: Sequence[Step]) -> None:
        if len(step.name) > LONGEST_NAME:
            raise Invalid(
                "invalid_graph", f"A task name of {len(step.name)} characters; {LONGEST_NAME} are allowed."
            )
        if step.name in self._by_name:
            raise Invalid("invalid_graph", f"Two tasks are named {step.name!r}.", hint="Name one of them.")
        for need in needs:
            if self._by_name.get(need.name) is not need:
                raise Invalid(
                    "invalid_graph",
                    f"Task {step.name!r} needs {need.name!r}, which was not added to this graph.",
                    hint="Add what is needed first.",
                )


def _as_json_values(task: Task, given: object) -> object:
    try:
        return as_json_values(given)
    except TypeError as error:
        raise Invalid(
            "invalid_graph", f"The input of a {task.type} task cannot be written as JSON: {error}."
        ) from error
