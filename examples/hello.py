"""The smallest app: one task, one job. Start it with: shoal job start hello --watch"""

import msgspec

from shoal import App, Context, Graph

app = App()


class Hello(msgspec.Struct):
    name: str = "world"


@app.task("greet")
def greet(context: Context, whom: Hello) -> str:
    context.artifact("greeting.txt", f"Hello, {whom.name}!\n", type="text", content_type="text/plain")
    return f"Hello, {whom.name}!"


@app.job("hello")
def hello(params: Hello) -> Graph:
    graph = Graph()
    graph.add(greet, params)
    return graph
