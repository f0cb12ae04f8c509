"""The job of the room ``foundation``: six tasks of half a second, each with progress and a file."""

import random
import time
from typing import Any

import msgspec

from shoal import App, Context, Graph
from tests.scenarios.apps.executions import record_execution

app = App()

PAGES = 6
PAGE_BYTES = 300_000
TASK_S = 0.5
STEPS = 10
RESULT_PAGES = 6
"""What the last page adds up to: itself, the two of one chain and the three of the other."""


class Walk(msgspec.Struct):
    seed: int = 0


class Page(msgspec.Struct):
    seed: int
    number: int


def page_content(seed: int, number: int) -> bytes:
    return random.Random(f"{seed}.{number}").randbytes(PAGE_BYTES)  # noqa: S311 - not for secrets


def page_name(number: int) -> str:
    return f"page-{number}.bin"


@app.task("walk_page", retries=9, backoff=0.2)
def walk_page(context: Context, page: Page) -> dict[str, Any]:
    mark = record_execution(context)
    for step in range(STEPS):
        context.progress(step / STEPS, f"page {page.number}, step {step}")
        time.sleep(TASK_S / STEPS)
    content = page_content(page.seed, page.number)
    context.artifact(page_name(page.number), content, type="page")
    return {"mark": mark, "pages": 1 + sum(need["pages"] for need in context.needs.values())}


@app.job("walk", phases={"walking": 100})
def walk(params: Walk) -> Graph:
    """Two chains of pages that meet in the last one."""
    graph = Graph()
    steps = [
        graph.add(walk_page, Page(params.seed, number), name=f"page-{number}", phase="walking")
        for number in (1, 2)
    ]
    for number in range(3, PAGES):
        steps.append(
            graph.add(
                walk_page,
                Page(params.seed, number),
                name=f"page-{number}",
                needs=[steps[number - 3]],
                phase="walking",
            )
        )
    graph.add(walk_page, Page(params.seed, PAGES), name=f"page-{PAGES}", needs=steps[-2:], phase="walking")
    return graph
