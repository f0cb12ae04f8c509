"""What a task returns, as the JSON that the ledger keeps."""

from shoal.app.task import Task
from shoal.app.values import as_json
from shoal.runtime.errors import Invalid, TooLarge

LARGEST_OUTPUT = 65536


def written_output(task: Task, output: object) -> str | None:
    """The output as JSON; None for none. ``Invalid`` and ``TooLarge`` say why it cannot be kept."""
    if output is None:
        return None
    try:
        written = as_json(output)
    except (TypeError, ValueError) as error:
        raise Invalid(
            "output_not_json", f"The output of {task.type} cannot be written as JSON: {error}."
        ) from error
    if len(written) + written.count(b",") + written.count(b":") > LARGEST_OUTPUT:  # as jsonb prints it
        raise TooLarge(
            "output_too_large",
            f"The output of {task.type} has {len(written)} bytes, at most {LARGEST_OUTPUT} are kept.",
            hint="Keep large results as artifacts, and return their names.",
        )
    return written.decode()
