"""What a chunk comes to, and what a job does. The names of the moments are those fleets have always used,
whatever it is that an engine measures.
"""

from typing import Any

import msgspec


class ChunkMoments(msgspec.Struct, rename="camel", forbid_unknown_fields=True, frozen=True):
    """The result of a chunk whose engine has the reducer ``moments``."""

    mean_dps: float
    std_dps: float
    min_dps: float
    max_dps: float
    iterations: int


class JobMoments(msgspec.Struct, rename="camel", forbid_unknown_fields=True, frozen=True):
    """The result of a job, of all its chunks."""

    mean_dps: float
    std_dps: float
    min_dps: float
    max_dps: float
    total_iterations: int


class ChunkValues(msgspec.Struct, rename="camel", forbid_unknown_fields=True, frozen=True):
    """The result of a chunk whose engine has the reducer ``collect``: a value for each iteration."""

    values: list[Any]
    iterations: int


class JobValues(msgspec.Struct, rename="camel", forbid_unknown_fields=True, frozen=True):
    """The values of all iterations, in their order."""

    values: list[Any]
    total_iterations: int
