"""``App``, ``@app.task``, ``@app.job``, ``@app.engine``, ``@app.schedule`` and ``@app.on``."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

import msgspec

from shoal.app.declarations import (
    check_name,
    check_parameters,
    check_process,
    check_range,
    first_parameter,
    schema_of_parameter,
    second_parameter,
)
from shoal.app.engine import Engine, declared_engine
from shoal.app.graph import Graph
from shoal.app.handler import Handler, check_patterns
from shoal.app.reducers import Bounds, Reducer
from shoal.app.schedule import ScheduledJobOf, check_scheduled_params, check_when
from shoal.app.starting import Connection, KeyOf, PlannedBy, Wishes, start_jobs
from shoal.app.task import RunIn, Task
from shoal.app.values import converted
from shoal.runtime.errors import Invalid
from shoal.wire.jobs import OnConflict
from shoal.wire.schedules import FrequencyUnit, MissedPolicy, OverlapPolicy

MOST_RETRIES = 99
LONGEST_S = 10 * 365 * 86400.0
MOST_URGENT = 100
MOST_ATTEMPTS = 1000
LONGEST_HANDLING_S = 3600.0

TaskFunction = TypeVar("TaskFunction", bound=Callable[..., Any])
JobFunction = TypeVar("JobFunction", bound=Callable[..., Graph])
EngineFunction = TypeVar("EngineFunction", bound=Callable[..., Any])
HandlerFunction = TypeVar("HandlerFunction", bound=Callable[..., Any])


@dataclass(frozen=True)
class Job:
    type: str
    function: Callable[..., Graph]
    params_type: Any
    version: str
    phases: Mapping[str, float]
    params_schema: Mapping[str, Any]

    def plan(self, params: object) -> Graph:
        """Validate the parameters and build the graph."""
        try:
            typed = converted(params, self.params_type)
        except msgspec.ValidationError as error:
            raise Invalid(
                "invalid_params", f"The parameters of {self.type} are not valid: {error}."
            ) from error
        graph = self.function(typed)
        if not isinstance(graph, Graph):
            raise Invalid(
                "invalid_graph",
                f"The job {self.type} returned a {type(graph).__name__} and not a Graph.",
                hint="End its function with: return graph",
            )
        for step in graph.steps:
            if step.phase is not None and step.phase not in self.phases:
                raise Invalid(
                    "invalid_graph", f"Task {step.name!r} is in {step.phase!r}, not a phase of the job."
                )
        return graph

    def phases_as_written(self) -> list[dict[str, object]]:
        """Weights become the percentage at which each phase ends; a whole of 100 is kept as it is."""
        total = sum(self.phases.values())
        scale = 1.0 if 0 < total <= 100 else 100 / total if total else 0.0
        reached = 0.0
        written: list[dict[str, object]] = []
        for name, weight in self.phases.items():
            reached += weight * scale
            written.append({"name": name, "ends": round(reached, 3)})
        return written


class App:
    """The tasks, jobs, engines and handlers of events of one code base."""

    def __init__(self) -> None:
        self.references: list[str] = []
        """Where it was imported from, as in ``examples.hello:app``, for processes that run its tasks."""
        self.tasks: dict[str, Task] = {}
        self.jobs: dict[str, Job] = {}
        self.engines: dict[str, Engine] = {}
        self.schedules: dict[str, ScheduledJobOf] = {}
        self.handlers: dict[str, Handler] = {}

    def task(
        self,
        type: str,  # noqa: A002 - the word users know from the API
        *,
        retries: int = 2,
        backoff: float = 5.0,
        timeout: float | None = None,
        phase: str | None = None,
        priority: int = 0,
        run_in: RunIn = "worker",
        memory_mb: int | None = None,
    ) -> Callable[[TaskFunction], Task]:
        """Declare a task: ``function(context)`` or ``function(context, input)``, sync or async.

        * ``backoff`` is the pause in seconds after the first failure; it doubles with each further one.
        * ``priority`` puts tasks before others that are ready: each step is worth a minute of waiting.
        * ``run_in="process"`` is for work that holds the interpreter lock, may crash, or must be stopped:
          each attempt has a process for itself, which is killed when the attempt has to end. With
          ``memory_mb`` it may use that much memory.
        """
        check_name("task", type, self.tasks)
        check_range(type, "retries", retries, 0, MOST_RETRIES)
        check_range(type, "backoff", backoff, 0, LONGEST_S)
        check_range(type, "timeout", timeout or 1, 0, LONGEST_S)
        check_range(type, "priority", priority, -MOST_URGENT, MOST_URGENT)
        check_process(type, run_in, memory_mb)

        def declare(function: TaskFunction) -> Task:
            check_parameters(type, function, at_least=1, at_most=2)
            input_type = second_parameter(function)
            schema_of_parameter(type, input_type)
            declared = Task(
                type=type,
                function=function,
                input_type=input_type,
                retries=retries,
                backoff=backoff,
                timeout=timeout,
                phase=phase,
                priority=priority,
                run_in=run_in,
                memory_mb=memory_mb,
                is_async=inspect.iscoroutinefunction(function),
            )
            self.tasks[type] = declared
            return declared

        return declare

    def job(
        self,
        type: str,  # noqa: A002 - the word users know from the API
        *,
        version: str = "1",
        phases: Mapping[str, float] | None = None,
    ) -> Callable[[JobFunction], Job]:
        """Declare a job: a function of its parameters (a msgspec struct or a pydantic model, say) that
        returns a ``Graph``.

        ``phases`` maps each phase to its share of the progress, in the order they are passed.
        """
        check_name("job", type, self.jobs)
        for phase, share in (phases or {}).items():
            check_range(type, f"phase {phase}", share, 0, LONGEST_S)

        def declare(function: JobFunction) -> Job:
            check_parameters(type, function, at_least=1, at_most=1)
            params_type = first_parameter(function)
            schema = schema_of_parameter(type, params_type)
            declared = Job(type, function, params_type, version, phases or {}, schema)
            self.jobs[type] = declared
            return declared

        return declare

    def schedule(
        self,
        *,
        cron: str | None = None,
        every: tuple[int, FrequencyUnit] | None = None,
        tz: str = "UTC",
        name: str | None = None,
        params: Mapping[str, Any] | None = None,
        priority: int = 0,
        start: datetime | None = None,
        end: datetime | None = None,
        jitter: float = 0.0,
        missed: MissedPolicy = "last",
        missed_limit: int = 100,
        missed_window: float | None = None,
        overlap: OverlapPolicy = "allow",
    ) -> Callable[[Job], Job]:
        """Declare when a job happens again and again: ``@app.schedule(cron="0 9 * * 1", tz="Europe/Berlin")``
        above its ``@app.job``. ``shoal schedule apply`` adds what is declared, for whoever calls it.

        * A job may have several, each with a ``name`` and ``params`` of its own. The usual name is its type.
        * ``missed`` says what runs of what nobody could start in time; ``overlap``, what a run does whose
          predecessor is still alive; ``jitter`` is up to how many seconds later a run may start.
        """
        check_when(name or "", cron, every)

        def declare(job: Job) -> Job:
            called = name or self.declared(job).type
            if called in self.schedules:
                raise Invalid("invalid_declaration", f"The schedule {called!r} is declared twice.")
            check_scheduled_params(called, params or {}, job.params_type)
            self.schedules[called] = ScheduledJobOf(
                name=called,
                job=job.type,
                cron=cron,
                every=every,
                tz=tz,
                params=params or {},
                priority=priority,
                start=start,
                end=end,
                jitter=jitter,
                missed=missed,
                missed_limit=missed_limit,
                missed_window=missed_window,
                overlap=overlap,
            )
            return job

        return declare

    def engine(
        self,
        name: str,
        *,
        version: str,
        reducer: Reducer,
        batch: int = 10_000,
        bounds: Bounds | None = None,
        memory_mb: int | None = None,
    ) -> Callable[[EngineFunction], Engine]:
        """Declare an engine: ``function(config, iterations)``, which returns a value for each iteration.

        * What it returns for an iteration depends on the config, the seed and the number of the iteration
          alone: not on which others it is computed with, where, or when. A change of it is a new ``version``.
        * It is called for at most ``batch`` iterations at a time, and can be stopped in between.
        * ``bounds`` are what the numbers of the reducer ``moments`` lie between: 0 and ten million.
        """
        check_name("engine", name, self.engines)

        def declare(function: EngineFunction) -> Engine:
            declared = declared_engine(
                name,
                function,
                version=version,
                reducer=reducer,
                batch=batch,
                bounds=bounds or Bounds(),
                memory_mb=memory_mb,
            )
            self.engines[name] = declared
            return declared

        return declare

    def on(
        self, *events: str, name: str = "", attempts: int = 10, timeout: float = 30.0
    ) -> Callable[[HandlerFunction], HandlerFunction]:
        """Declare a handler of events: ``function(event)``, or ``async function(event, connection)``.

        * ``events`` are types, ``job.*`` for many, ``*`` for all but those of single tasks.
        * ``name`` is the consumer's, known everywhere; without it the function's. All workers of the app
          share its events. It is told what happens from its first start on.
        * An event is handled at least once, those of one aggregate in order; ``event.id`` tells a repeat.
          With a ``connection`` the handler works in the transaction that also notes the event as handled:
          what it does there happens exactly once.
        * What raises is tried again, longer each time; after ``attempts`` the event goes to the dead letters.
        """

        def declare(function: HandlerFunction) -> HandlerFunction:
            known = name or function.__name__
            check_name("handler", known, self.handlers)
            check_patterns(known, events)
            check_range(known, "attempts", attempts, 1, MOST_ATTEMPTS)
            check_range(known, "timeout", timeout, 0.1, LONGEST_HANDLING_S)
            check_parameters(known, function, at_least=1, at_most=2)
            is_async = inspect.iscoroutinefunction(function)
            takes_connection = len(inspect.signature(function).parameters) == 2
            if takes_connection and not is_async:
                raise Invalid(
                    "invalid_declaration",
                    f"{known} takes a connection, and is not async.",
                    hint=f"Write async def {known}(event, connection).",
                )
            self.handlers[known] = Handler(
                name=known,
                events=events,
                function=function,
                attempts=attempts,
                timeout=timeout,
                is_async=is_async,
                takes_connection=takes_connection,
            )
            return function

        return declare

    def declared(self, job: Job | str) -> Job:
        """A job of this app by its type."""
        found = self.jobs.get(job if isinstance(job, str) else job.type)
        if found is None:
            raise Invalid("unknown_job_type", f"The app declares no job {job!r}.")
        return found

    async def start(
        self,
        job: Job | str,
        params: object = None,
        *,
        connection: Connection,
        user_id: UUID | None = None,
        priority: int = 0,
        unique_key: str | None = None,
        on_conflict: OnConflict = "reject",
        run_at: datetime | None = None,
        idempotency_key: str | None = None,
        planned_by: PlannedBy = "caller",
    ) -> UUID:
        """Start a job in the transaction of ``connection``; it is there once that commits. Returns its id.

        * A connection that acts as a user leaves out ``user_id``, and has the job ``planned_by="worker"``.
        * A worker must have registered the type, as it does when it starts.
        """
        known = self.declared(job)
        wishes = Wishes(
            connection=connection,
            user_id=user_id,
            priority=priority,
            on_conflict=on_conflict,
            run_at=run_at,
            planned_by=planned_by,
        )
        (job_id,) = await start_jobs(
            known.type,
            known.plan,
            [params],
            wishes,
            key_of=None if unique_key is None else lambda _: unique_key,
            idempotency_key=idempotency_key,
        )
        return job_id

    async def start_many(
        self,
        job: Job | str,
        params: Iterable[object],
        *,
        connection: Connection,
        user_id: UUID | None = None,
        priority: int = 0,
        unique_key: KeyOf | None = None,
        on_conflict: OnConflict = "reject",
        run_at: datetime | None = None,
        planned_by: PlannedBy = "caller",
    ) -> list[UUID]:
        """Start a job for each of the parameters, all or none; ``unique_key`` makes a key of them."""
        known = self.declared(job)
        wishes = Wishes(
            connection=connection,
            user_id=user_id,
            priority=priority,
            on_conflict=on_conflict,
            run_at=run_at,
            planned_by=planned_by,
        )
        return await start_jobs(known.type, known.plan, params, wishes, key_of=unique_key)
