"""The reducers: how the values of iterations become the result of a chunk, and those the result of a job.

* ``moments``: a number for each iteration; the result is their count, mean, spread, least and greatest.
* ``collect``: any JSON value for each iteration; the result is all of them, in order.

A result comes from a machine nobody trusts: ``checked_result`` says whether it can be one at all.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from shoal.app.moments import Fold, Moments, chunk_moments, job_moments, moments_in, moments_of
from shoal.app.values import as_json_values
from shoal.runtime.errors import Invalid, TooLarge
from shoal.wire.results import ChunkMoments, ChunkValues, JobMoments, JobValues

Reducer = Literal["moments", "collect"]
ChunkResult = ChunkMoments | ChunkValues

MOST_RESULT_BYTES = 48 * 1024
"""A message has 64 KiB, and something is written around the result."""

ROUNDING = 1e-9


@dataclass(frozen=True)
class Bounds:
    """Between which the values of ``moments`` lie. Single ones may reach ``least``, the mean of a chunk may
    not: where ``least`` is 0, a mean of zero says that nothing was computed.
    """

    least: float = 0.0
    most: float = 10_000_000.0


def reduced_chunk(reducer: Reducer, parts: Iterable[Iterable[Any]]) -> ChunkResult:
    """The result of a chunk, of the values of its iterations, which come in parts."""
    if reducer == "moments":
        fold = Fold()
        for part in parts:
            fold.add(moments_of(part))
        return chunk_moments(fold.total())
    values = [as_json_values(value) for part in parts for value in part]
    return ChunkValues(values, len(values))


def merged_moments(results: Iterable[ChunkMoments]) -> JobMoments:
    """The result of a job, of the valid results of all its chunks, in any order."""
    fold = Fold()
    for result in results:
        fold.add(moments_in(result))
    return job_moments(fold.total())


def collected_values(results: Mapping[int, ChunkValues]) -> JobValues:
    """The result of a job, of the valid results of all its chunks, each by the number it begins with."""
    values = [value for _, result in sorted(results.items()) for value in result.values]
    return JobValues(values, len(values))


def checked_result(
    reducer: Reducer, result: object, *, iterations: int, bounds: Bounds | None = None
) -> ChunkResult:
    """The result as what it should be; ``invalid_result`` says why it cannot be one."""
    kind: type[ChunkResult] = ChunkMoments if reducer == "moments" else ChunkValues
    try:
        typed: ChunkResult = msgspec.convert(result, kind)
    except msgspec.ValidationError as error:
        raise _refused(str(error)) from error
    if typed.iterations != iterations:
        raise _refused(f"it is of {typed.iterations} iterations, not of {iterations}")
    if isinstance(typed, ChunkMoments):
        _check_moments(moments_in(typed), typed.std_dps, bounds or Bounds())
    else:
        _check_values(typed)
    return typed


def _check_moments(moments: Moments, deviation: float, bounds: Bounds) -> None:
    # Each condition is one that must hold: no comparison holds for what is not a number.
    if not bounds.least <= moments.least <= moments.mean <= moments.greatest <= bounds.most:
        raise _refused(f"its numbers are not in order between {bounds.least:g} and {bounds.most:g}")
    if moments.mean == bounds.least:
        raise _refused(f"its mean is {moments.mean:g}, as if nothing had been computed")
    # No numbers in these limits and with this mean lie further apart (Bhatia and Davis).
    widest = math.sqrt(moments.greatest - moments.mean) * math.sqrt(moments.mean - moments.least)
    rounding = ROUNDING * max(abs(moments.least), abs(moments.greatest))
    if not 0.0 <= deviation <= widest + rounding:
        raise _refused(f"its standard deviation cannot be {deviation:g}")


def _check_values(result: ChunkValues) -> None:
    if len(result.values) != result.iterations:
        raise _refused(f"it has {len(result.values)} values for {result.iterations} iterations")
    if not _is_finite(result.values):
        raise _refused("it has numbers that are not finite")
    if (size := len(msgspec.json.encode(result))) > MOST_RESULT_BYTES:
        raise TooLarge(
            "result_too_large",
            f"The result of the chunk has {size} bytes; {MOST_RESULT_BYTES} are allowed.",
            hint="Cut the job into smaller chunks.",
        )


def _is_finite(value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(map(_is_finite, value.values()))
    return all(map(_is_finite, value)) if isinstance(value, list) else True


def _refused(reason: str) -> Invalid:
    return Invalid("invalid_result", f"The result of the chunk is not valid: {reason}.")
