"""What one worker runs: the apps it was given, joined into one, and of that the types it was told."""

import difflib
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from shoal.app.declare import App
from shoal.runtime.errors import Conflict, Invalid
from shoal.worker.agent import task_types_of
from shoal.worker.held import PLAN

Declared = TypeVar("Declared")


def load_apps(references: Sequence[str], types: Sequence[str] = ()) -> App:
    """Import the apps and join them. Without ``types`` everything they declare is run."""
    joined = App()
    joined.references = list(references)
    source: dict[tuple[str, str], str] = {}
    for reference in references:
        app = load_app(reference)
        _join("task", joined.tasks, app.tasks, source, reference)
        _join("job", joined.jobs, app.jobs, source, reference)
        _join("engine", joined.engines, app.engines, source, reference)
        _join("handler", joined.handlers, app.handlers, source, reference)
    return narrowed(joined, types) if types else joined


def load_app(reference: str) -> App:
    """``package.module:name`` → the App, looked up from the current directory."""
    found = load_object(reference)
    if not isinstance(found, App):
        raise Invalid("app_not_found", f"{reference} is a {type(found).__name__}, not a shoal.App.")
    return found


def load_object(reference: str) -> object:
    """Whatever of the user's is called ``package.module:name``."""
    module_name, _, attribute = reference.partition(":")
    if not module_name or not attribute:
        raise Invalid(
            "app_reference_malformed",
            f"{reference!r} does not name an app.",
            hint="Write it as package.module:name, as in examples.hello:app.",
        )
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
    except Invalid:  # what it declares is wrong
        raise
    except Exception as error:
        raise _not_imported(module_name, here, error) from error
    if not hasattr(module, attribute):
        raise Invalid("app_not_found", f"The module {module_name} has no {attribute}.")
    return getattr(module, attribute)


def narrowed(app: App, types: Sequence[str]) -> App:
    """The app with these types alone: those of tasks as declared, and ``plan:`` with the type of a job."""
    known = task_types_of(app)
    for name in types:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            raise Invalid(
                "task_type_not_declared",
                f"No app of this worker declares the task type {name!r}.",
                hint=f"Did you mean {near[0]}?" if near else f"There are: {', '.join(sorted(known))}.",
            )
    only = App()
    only.references = app.references
    only.tasks = {name: task for name, task in app.tasks.items() if name in types}
    only.jobs = {name: job for name, job in app.jobs.items() if PLAN + name in types}
    return only


def _join(
    kind: str,
    joined: dict[str, Declared],
    declared: dict[str, Declared],
    source: dict[tuple[str, str], str],
    reference: str,
) -> None:
    for name, one in declared.items():
        if joined.setdefault(name, one) is not one:
            raise Conflict(
                "declared_by_two_apps",
                f"The {kind} type {name!r} is declared by {source[kind, name]} and by {reference}.",
                hint="One worker runs one of them: rename it in one app, or start a worker for each.",
            )
        source.setdefault((kind, name), reference)


def _not_imported(module_name: str, here: str, error: Exception) -> Invalid:
    missing = error.name if isinstance(error, ModuleNotFoundError) else None
    if missing and f"{module_name}.".startswith(f"{missing}."):
        return Invalid(
            "app_not_found",
            f"The module {missing} cannot be found from {here}.",
            hint="Start the worker in the folder from which the module can be imported.",
        )
    return Invalid(
        "app_not_importable",
        f"The module {module_name} cannot be imported: {type(error).__name__}: {error}.",
        hint=f"'python -c \"import {module_name}\"' in {here} shows where.",
    )
