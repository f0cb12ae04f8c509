"""The app of these tests: engines whose answers anybody can work out, and a job for each."""

import msgspec

from shoal.app.declare import App
from shoal.app.graph import Graph
from shoal.app.iterations import Iterations
from shoal.wire.fleet_tasks import Audience

app = App()


class Wish(msgspec.Struct):
    iterations: int = 100
    size: int = 10
    audience: Audience = "own"
    config: dict[str, int] = {}
    replication: float = 0.0


@app.engine("waves", version="1", reducer="moments")
def waves(config: dict[str, int], iterations: Iterations) -> list[float]:
    return [float((number * 7919 + config.get("shift", 0)) % 997 + 1) for number in iterations]


@app.engine("squares", version="1", reducer="collect")
def squares(_config: dict[str, int], iterations: Iterations) -> list[int]:
    return [number * number for number in iterations]


@app.job("waves")
def measure_waves(wish: Wish) -> Graph:
    graph = Graph()
    graph.fleet(
        waves,
        wish.config,
        iterations=wish.iterations,
        chunk_size=wish.size,
        audience=wish.audience,
        seed=11,
        replication=wish.replication,
    )
    return graph


@app.job("squares")
def list_squares(wish: Wish) -> Graph:
    graph = Graph()
    graph.fleet(squares, iterations=wish.iterations, chunk_size=wish.size)
    return graph
