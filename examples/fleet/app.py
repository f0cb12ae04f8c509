"""The app a node is started with: it has both engines. Workers plan its jobs."""

from typing import Annotated

import msgspec

from examples.fleet.dps import Fight, simulate
from examples.fleet.mandelbrot import Picture, draw
from shoal import App, Graph, Iterations
from shoal.app.streams import Numbers

app = App()


@app.engine("dps", version="1", reducer="moments", batch=2000)
def dps(fight: Fight, iterations: Iterations) -> Numbers:
    """The damage per second of one fight after the other."""
    return simulate(fight, iterations)


@app.engine("mandelbrot", version="1", reducer="collect", batch=8)
def mandelbrot(picture: Picture, iterations: Iterations) -> list[str]:
    """The lines of a picture."""
    return draw(picture, iterations)


class Fights(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``chunk_size`` is how many fights a node is given at a time; without it, the fleet chooses."""

    fight: Fight
    iterations: Annotated[int, msgspec.Meta(ge=1)] = 100_000
    chunk_size: Annotated[int, msgspec.Meta(ge=1)] | None = None
    seed: Annotated[int, msgspec.Meta(ge=0)] = 0


@app.job("fights")
def fights(params: Fights) -> Graph:
    """How much damage does a caster do in a second, over very many fights?"""
    graph = Graph()
    graph.fleet(
        dps,
        params.fight,
        iterations=params.iterations,
        chunk_size=params.chunk_size,
        seed=params.seed,
    )
    return graph


@app.job("picture")
def picture(params: Picture) -> Graph:
    """The Mandelbrot set, drawn by whoever has time for a few lines."""
    graph = Graph()
    graph.fleet(mandelbrot, params, iterations=params.height, chunk_size=4)
    return graph
