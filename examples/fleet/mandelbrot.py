"""A picture of the Mandelbrot set, in letters: an iteration is a line of it.

How many lines a picture has is for the config to say, how many of them are drawn for the job: a job over
``height`` iterations draws it whole, and cutting it cuts the picture into stripes.
"""

from typing import Annotated

import msgspec
import numpy as np

from shoal import Iterations

SHADES = " .:-=+*#%@"
LETTER_SHAPE = 2.0  # a letter is about twice as high as it is wide


class Picture(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``x`` and ``y`` are in the middle, ``span`` is the width."""

    width: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 78
    height: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 32
    x: Annotated[float, msgspec.Meta(ge=-2, le=2)] = -0.6
    y: Annotated[float, msgspec.Meta(ge=-2, le=2)] = 0.0
    span: Annotated[float, msgspec.Meta(gt=0, le=8)] = 3.2
    depth: Annotated[int, msgspec.Meta(ge=2, le=10_000)] = 100


def draw(picture: Picture, lines: Iterations) -> list[str]:
    """These lines of the picture, from the top."""
    return [_line(picture, number) for number in lines]


def _line(picture: Picture, number: int) -> str:
    dot = picture.span / picture.width
    across = picture.x + (np.arange(picture.width) - (picture.width - 1) / 2) * dot
    down = picture.y + (number - (picture.height - 1) / 2) * dot * LETTER_SHAPE
    point = across + 1j * down
    value = np.zeros_like(point)
    steps = np.zeros(picture.width, dtype=int)
    for _ in range(picture.depth):
        inside = np.abs(value) <= 2
        if not inside.any():
            break
        value[inside] = value[inside] ** 2 + point[inside]
        steps += inside
    return "".join(" " if count == picture.depth else SHADES[count % len(SHADES)] for count in steps)
