"""The app a node is started with: it has both engines."""

from examples.fleet.dps import Fight, simulate
from examples.fleet.mandelbrot import Picture, draw
from shoal import App, Iterations
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
