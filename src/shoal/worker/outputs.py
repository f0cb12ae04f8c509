"""What a task returns, as the JSON that the ledger keeps."""

import re

from shoal.app.task import Task
from shoal.app.values import as_json
from shoal.runtime.errors import Invalid, TooLarge

LARGEST_OUTPUT = 65536
LEAST_SUSPICIOUS = 1024

# A long run of the letters of base64 in which all kinds of them are: not a word, hex digits or a genome.
_RUN = re.compile(rb"(?:[A-Za-z0-9+/_-]|\\[rn]){%d,}" % LEAST_SUSPICIOUS)
_KINDS = (re.compile(rb"[a-z]"), re.compile(rb"[A-Z]"), re.compile(rb"[0-9]"), re.compile(rb"[g-zG-Z]"))


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
    if holds_base64(written):
        raise Invalid(
            "output_has_base64",
            f"The output of {task.type} holds what looks like a file in base64.",
            hint="Keep files as artifacts, and return their names.",
        )
    return written.decode()


def holds_base64(written: bytes) -> bool:
    """Whether a text in this JSON looks like bytes in base64."""
    return len(written) > LEAST_SUSPICIOUS and any(
        all(kind.search(run[0]) for kind in _KINDS) for run in _RUN.finditer(written)
    )
