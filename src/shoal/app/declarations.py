"""What a declaration must keep to. What is wrong is refused where it is declared."""

import inspect
import re
import typing
from collections.abc import Callable, Mapping
from typing import Any

from shoal.app.task import RunIn
from shoal.app.values import schema_of
from shoal.runtime.errors import Invalid

NAME = re.compile(r"[a-z][a-z0-9_.-]{0,62}")
LEAST_MEMORY_MB = 64  # about what Python and Shoal take for themselves
MOST_MEMORY_MB = 1024 * 1024


def check_name(kind: str, name: str, taken: Mapping[str, object]) -> None:
    if not NAME.fullmatch(name):
        raise Invalid(
            "invalid_declaration",
            f"{name!r} cannot be the name of a {kind}.",
            hint="Use small letters, digits, '_', '.' and '-', beginning with a letter.",
        )
    if name in taken:
        raise Invalid("invalid_declaration", f"The {kind} {name!r} is declared twice.")


def check_range(name: str, what: str, value: float, least: float, most: float) -> None:
    if not least <= value <= most:  # also refuses what is not a number
        raise Invalid(
            "invalid_declaration", f"{what} of {name} is {value}, not between {least:g} and {most:g}."
        )


def check_process(name: str, run_in: str, memory_mb: int | None) -> None:
    if run_in not in typing.get_args(RunIn):
        raise Invalid(
            "invalid_declaration",
            f"{name} is to run in {run_in!r}.",
            hint='There are "worker" and "process".',
        )
    if memory_mb is None:
        return
    check_range(name, "memory_mb", memory_mb, LEAST_MEMORY_MB, MOST_MEMORY_MB)
    if run_in != "process":
        raise Invalid(
            "invalid_declaration",
            f"{name} has a memory limit, but runs in the process of the worker, next to others.",
            hint='Give it a process of its own: run_in="process".',
        )


def check_parameters(name: str, function: Callable[..., Any], *, at_least: int, at_most: int) -> None:
    count = len(inspect.signature(function).parameters)
    if not at_least <= count <= at_most:
        raise Invalid(
            "invalid_declaration",
            f"The function of {name} takes {count} parameters.",
            hint="A task takes its context and perhaps an input; a job takes its parameters.",
        )


def schema_of_parameter(name: str, parameter: Any) -> dict[str, Any]:
    try:
        return schema_of(parameter)
    except TypeError as error:
        raise Invalid(
            "invalid_declaration",
            f"The parameter of {name} has a type that JSON values cannot become: {error}.",
            hint="Use a msgspec struct, a dataclass, a pydantic model, or what these are made of.",
        ) from error


def first_parameter(function: Callable[..., Any]) -> Any:
    return _parameter(function, 0)


def second_parameter(function: Callable[..., Any]) -> Any:
    return _parameter(function, 1)


def _parameter(function: Callable[..., Any], index: int) -> Any:
    """The annotation of a parameter; ``Any`` where it has none, None where there is no parameter."""
    names = list(inspect.signature(function).parameters)
    if len(names) <= index:
        return None
    return typing.get_type_hints(function).get(names[index], Any)
