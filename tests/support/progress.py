"""How far a job is by the tasks of its phases, worked out without rounding."""

from collections.abc import Sequence
from fractions import Fraction

from shoal.jobs.model import Phase


def reached(phases: Sequence[Phase]) -> Fraction:
    """In percent. A phase without tasks counts as passed once no earlier one has open tasks."""
    passed, start, open_before = Fraction(0), Fraction(0), False
    for phase in phases:
        end = Fraction(phase.ends)
        open_before = open_before or phase.total > phase.done
        if phase.total:
            passed += (end - start) * Fraction(phase.done, phase.total)
        elif not open_before:
            passed += end - start
        start = end
    return passed
