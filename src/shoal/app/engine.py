"""A declared engine: a function that nodes have, and how its values become results."""

import inspect
import re
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from shoal.app.declarations import (
    LEAST_MEMORY_MB,
    MOST_MEMORY_MB,
    check_range,
    first_parameter,
    schema_of_parameter,
    second_parameter,
)
from shoal.app.iterations import LARGEST, Iterations
from shoal.app.reducers import Bounds, ChunkResult, Reducer, checked_result, reduced_chunk
from shoal.app.values import converted
from shoal.runtime.errors import Invalid

VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z._+-]{0,31}")
FARTHEST_BOUND = 1e100  # squares of it are numbers, too


@dataclass(frozen=True)
class Engine:
    name: str
    version: str
    function: Callable[..., Any]
    reducer: Reducer
    config_type: Any
    batch: int
    bounds: Bounds
    memory_mb: int | None
    config_schema: Mapping[str, Any]

    @property
    def identity(self) -> str:
        """What a node reports and a job pins: the same identity is the same answer, on any machine."""
        return f"{self.name}@{self.version}"

    def config_of(self, config: object) -> Any:
        """JSON values as the type the function takes."""
        try:
            return converted(config, self.config_type)
        except msgspec.ValidationError as error:
            raise Invalid(
                "invalid_config", f"The config of {self.identity} is not valid: {error}."
            ) from error

    def compute(
        self, config: object, iterations: Iterations, *, moved: Callable[[int], None] | None = None
    ) -> ChunkResult:
        """The result of a chunk. ``moved`` hears between batches how many iterations are done; what it
        raises ends the chunk.
        """
        parts = self._parts(self.config_of(config), iterations, moved)
        result = reduced_chunk(self.reducer, parts)
        return checked_result(self.reducer, result, iterations=iterations.count, bounds=self.bounds)

    def _parts(
        self, config: object, iterations: Iterations, moved: Callable[[int], None] | None
    ) -> Iterator[Any]:
        for part in iterations.cut(self.batch):
            values = self.function(config, part)
            if not hasattr(values, "__len__") or len(values) != part.count:
                raise Invalid(
                    "invalid_values",
                    f"{self.identity} did not return a value for each of {part.count} iterations.",
                    hint="Return a list or an array, in the order of the iterations.",
                )
            yield values
            if moved is not None:
                moved(part.end - iterations.first)


def declared_engine(
    name: str,
    function: Callable[..., Any],
    *,
    version: str,
    reducer: Reducer,
    batch: int,
    bounds: Bounds,
    memory_mb: int | None,
) -> Engine:
    """The engine, if it can be one."""
    if not VERSION.fullmatch(version):
        raise _wrong(
            f"{version!r} cannot be the version of {name}.", "Use letters, digits, '.', '_', '+' and '-'."
        )
    if reducer not in typing.get_args(Reducer):
        raise _wrong(f"{name} has the reducer {reducer!r}.", 'There are "moments" and "collect".')
    check_range(name, "batch", batch, 1, LARGEST)
    check_range(name, "least", bounds.least, -FARTHEST_BOUND, FARTHEST_BOUND)
    check_range(name, "most", bounds.most, bounds.least, FARTHEST_BOUND)
    check_range(name, "memory_mb", memory_mb or LEAST_MEMORY_MB, LEAST_MEMORY_MB, MOST_MEMORY_MB)
    _check_function(name, function)
    config_type = first_parameter(function)
    return Engine(
        name=name,
        version=version,
        function=function,
        reducer=reducer,
        config_type=config_type,
        batch=batch,
        bounds=bounds,
        memory_mb=memory_mb,
        config_schema=schema_of_parameter(name, config_type),
    )


def _check_function(name: str, function: Callable[..., Any]) -> None:
    if len(inspect.signature(function).parameters) != 2 or inspect.iscoroutinefunction(function):
        raise _wrong(
            f"The function of the engine {name} is not a plain function of two parameters.",
            "It takes the config and the iterations.",
        )
    if second_parameter(function) not in {Iterations, Any}:
        raise _wrong(f"The second parameter of the engine {name} is not annotated as Iterations.", "")


def _wrong(message: str, hint: str) -> Invalid:
    return Invalid("invalid_declaration", message, hint=hint)
