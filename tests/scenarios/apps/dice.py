"""The jobs of the room ``fleet``: throws of a die, each decided by its seed and its number alone."""

import hashlib
import time

import msgspec

from shoal import App, Graph, Iterations
from shoal.app.moments import Moments, moments_of

app = App()

CHUNK = 5


class Die(msgspec.Struct):
    sides: int
    pause_s: float = 0.0
    """How long a chunk takes beside its throws, which take no time."""


class Throws(msgspec.Struct):
    seed: int
    chunks: int
    sides: int
    pause_s: float
    audience: str = "public"


def throw(seed: int, number: int, sides: int) -> float:
    word = hashlib.blake2b(f"{seed} {number}".encode(), digest_size=8).digest()
    return int.from_bytes(word) / 2**64 * sides


@app.engine("dice", version="1", reducer="moments", batch=CHUNK)
def dice(die: Die, iterations: Iterations) -> list[float]:
    time.sleep(die.pause_s)
    return [
        throw(iterations.seed, iterations.first + number, die.sides) for number in range(iterations.count)
    ]


@app.job("throws")
def throws(params: Throws) -> Graph:
    graph = Graph()
    graph.fleet(
        dice,
        Die(params.sides, params.pause_s),
        iterations=params.chunks * CHUNK,
        chunk_size=CHUNK,
        seed=params.seed,
        audience=params.audience,  # type: ignore[arg-type] # checked where it is read
    )
    return graph


def right_answer(params: Throws) -> Moments:
    """Computed at once and in one piece."""
    return moments_of(throw(params.seed, number, params.sides) for number in range(params.chunks * CHUNK))
