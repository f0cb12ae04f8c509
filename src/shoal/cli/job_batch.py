"""``shoal job start --batch``: many jobs, one per line."""

import sys
from pathlib import Path
from typing import Any

import msgspec

from shoal.runtime.errors import Invalid
from shoal.wire.jobs import MOST_JOBS_AT_ONCE

STANDARD_INPUT = "-"


def read_batch(source: str, job_type: str | None) -> list[dict[str, Any]]:
    """The jobs of a file of JSON lines, or of standard input; ``job_type`` is for lines that name none."""
    jobs = []
    for number, line in enumerate(_lines_of(source), start=1):
        if line.strip():
            job = _job_of(line, f"line {number} of {source}")
            if job_type is not None:
                job.setdefault("type", job_type)
            jobs.append(job)
    if not 1 <= len(jobs) <= MOST_JOBS_AT_ONCE:
        raise Invalid(
            "wrong_number_of_jobs",
            f"There are {len(jobs):,} jobs in {source}; one call starts from 1 to {MOST_JOBS_AT_ONCE:,}.",
            hint="Split a larger file, as in: split -l 10000 jobs.jsonl part-",
        )
    return jobs


def _lines_of(source: str) -> list[bytes]:
    if source == STANDARD_INPUT:
        return sys.stdin.buffer.read().splitlines()
    try:
        return Path(source).read_bytes().splitlines()
    except OSError as error:
        raise Invalid("invalid_batch", f"{source} cannot be read: {error.strerror}.") from error


def _job_of(line: bytes, place: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(line, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise Invalid(
            "invalid_batch",
            f"{place} is not a JSON object: {error}.",
            hint="""Write one job per line, as in {"type": "hello", "params": {"name": "Ada"}}.""",
        ) from error
