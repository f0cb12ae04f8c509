"""An app whose jobs the nodes of a server run: each iteration is a while of waiting, so that one can look."""

import time
from typing import Any

import msgspec

from shoal import App, Graph, Iterations

REFERENCE = "tests.integration.discord.reef_app:app"

app = App()


class Tide(msgspec.Struct):
    chunks: int = 10


@app.engine("tide", version="1", reducer="moments", batch=1)
def tide(config: dict[str, Any], iterations: Iterations) -> list[float]:
    time.sleep(config["seconds"])
    return [1.0 + number for number in iterations]


@app.job("tide")
def tide_job(params: Tide) -> Graph:
    graph = Graph()
    graph.fleet(tide, {"seconds": 0.02}, iterations=params.chunks, chunk_size=1, audience="shared")
    return graph
