"""What the function of a task is called with."""

from typing import Any

import msgspec

from shoal.app.context import Context
from shoal.app.failures import PermanentFailure
from shoal.app.task import Task
from shoal.app.values import converted


def arguments_of(task: Task, context: Context) -> list[Any]:
    """The context, and the input where the task takes one, as the type it asks for."""
    if task.input_type is None:
        return [context]
    try:
        return [context, converted(context.input, task.input_type)]
    except msgspec.ValidationError as error:
        raise PermanentFailure(f"the input of {task.type} is not valid: {error}") from error
