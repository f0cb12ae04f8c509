"""The job of the room ``jobs``: forty tasks. 36 leaves, three sums of twelve leaves, one sum of sums.

Most leaves take milliseconds. Some fail on their first attempt; some take half a second and say how
far they are, so that there are leases to lose.
"""

import asyncio
import time
from typing import Any

import msgspec

from shoal import App, Context, Graph
from tests.scenarios.apps.executions import record_execution

app = App()

LEAVES = 36
SUMS = 3
TASKS = LEAVES + SUMS + 1
ONE_FAILS_IN = 97
ONE_IS_SLOW_IN = 41
SLOW_STEPS = 5
SLOW_STEP_S = 0.1


class Fan(msgspec.Struct):
    number: int
    task_s: float


class Leaf(msgspec.Struct):
    value: int
    task_s: float


class Sum(msgspec.Struct):
    task_s: float


def leaf_value(job: int, leaf: int) -> int:
    return job * LEAVES + leaf


def right_answer(job: int) -> int:
    return sum(leaf_value(job, leaf) for leaf in range(LEAVES))


@app.task("leaf", retries=30, backoff=0.2, phase="leaves")
async def leaf(context: Context, given: Leaf) -> dict[str, Any]:
    mark = record_execution(context)
    if given.value % ONE_FAILS_IN == 0 and context.attempt == 1:
        raise RuntimeError("the first attempt of this leaf fails")
    if given.value % ONE_IS_SLOW_IN == 0:
        for step in range(SLOW_STEPS):
            context.progress(step / SLOW_STEPS, f"step {step}")
            await asyncio.sleep(SLOW_STEP_S)
    await asyncio.sleep(given.task_s)
    return {"mark": mark, "value": given.value}


@app.task("sum", retries=30, backoff=0.2, phase="sums")
def add_up(context: Context, given: Sum) -> dict[str, Any]:
    """A sync task: it runs in a thread."""
    mark = record_execution(context)
    time.sleep(given.task_s)
    return {"mark": mark, "value": sum(need["value"] for need in context.needs.values())}


@app.job("fan", phases={"leaves": 80, "sums": 20})
def fan(params: Fan) -> Graph:
    graph = Graph()
    leaves = [
        graph.add(leaf, Leaf(leaf_value(params.number, number), params.task_s), name=f"leaf-{number}")
        for number in range(LEAVES)
    ]
    share = LEAVES // SUMS
    adding = Sum(params.task_s)
    sums = [
        graph.add(
            add_up,
            adding,
            name=f"sum-{number}",
            needs=leaves[number * share : (number + 1) * share],
        )
        for number in range(SUMS)
    ]
    graph.add(add_up, adding, name="total", needs=sums)
    return graph
