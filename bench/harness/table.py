"""What a bench prints."""

import sys
from collections.abc import Iterable, Sequence

from bench.harness.samples import Samples

HEADINGS = ("measured", "median", "min", "max", "n", "unit")


def say(line: str = "") -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def say_settings(settings: dict[str, object]) -> None:
    for name, value in settings.items():
        say(f"  {name}: {value}")
    say()


def say_samples(rows: Iterable[tuple[str, Samples, str]]) -> None:
    """Name, samples and unit of each measurement."""
    say_table(
        HEADINGS,
        [
            (name, _short(of.median), _short(of.least), _short(of.most), str(len(of.values)), unit)
            for name, of, unit in rows
        ],
    )


def say_ratio(name: str, ours: tuple[str, Samples], other: tuple[str, Samples]) -> float:
    """A ratio of medians, with both of them; returns it."""
    ratio = ours[1].median / other[1].median
    say(f"{name}: {ratio:.2f} = {ours[0]} {_short(ours[1].median)} / {other[0]} {_short(other[1].median)}")
    return ratio


def say_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    widths = [max(len(row[column]) for row in (headings, *rows)) for column in range(len(headings))]
    for row in (headings, *rows):
        first, *rest = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        say(
            "  ".join(
                [first, *(cell.strip().rjust(width) for cell, width in zip(rest, widths[1:], strict=True))]
            )
        )
    say()


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
