"""The page of metrics, collected from the source: every metric that is made with its name and its help."""

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.resources import files
from itertools import groupby
from pathlib import Path

import shoal
from _generate.markdown import code, first_line, page, table

INTRODUCTION = """\
Sentinels answer Prometheus at `GET /metrics`, beside their API. A worker does when `worker_metrics_port` is
set, on a port of its own. Both also show what the Prometheus client knows of any process (`process_…`,
`python_info`).

No label takes a value from outside. A `task_type` is one that the worker's apps declare; of the queue the 200
longest types are shown. How a worker's numbers are read is in [Run workers](../how-to/run-workers.md)."""

SOURCE = Path(str(files(shoal)))

KINDS = {
    f"{kind}{ending}": kind.lower()
    for kind in ("Counter", "Gauge", "Histogram", "Summary")
    for ending in ("", "MetricFamily")
}


@dataclass(frozen=True)
class Made:
    module: str
    name: str
    kind: str
    labels: tuple[str, ...]
    help: str

    @property
    def shown_name(self) -> str:
        return f"{self.name.removesuffix('_total')}_total" if self.kind == "counter" else self.name


def metrics_page() -> str:
    made = [one for file in sorted(SOURCE.rglob("*.py")) for one in in_file(file)]
    sections = [section(module, list(of)) for module, of in groupby(made, lambda one: one.module)]
    return page("Metrics", "the calls that make them (`src/shoal`)", INTRODUCTION, sections)


def section(module: str, made: list[Made]) -> str:
    import_module(module)
    about = first_line(sys.modules[module].__doc__)
    return f"## {module.removeprefix('shoal.')}\n\n{about}\n\n" + table(
        ["metric", "kind", "labels", "what it says"],
        [[code(one.shown_name), one.kind, ", ".join(map(code, one.labels)), one.help] for one in made],
    )


def in_file(file: Path) -> Iterator[Made]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    constants = {
        target.id: one.value
        for one in tree.body
        if isinstance(one, ast.Assign)
        for target in one.targets
        if isinstance(target, ast.Name)
    }
    imported = {
        name.name
        for one in tree.body
        if isinstance(one, ast.ImportFrom) and (one.module or "").startswith("prometheus_client")
        for name in one.names
    }
    kinds = KINDS.keys() & imported
    module = ".".join(["shoal", *file.relative_to(SOURCE).with_suffix("").parts])
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in kinds:
            named = {one.arg: one.value for one in call.keywords}
            labels = call.args[2] if len(call.args) > 2 else named.get("labels", named.get("labelnames"))
            if isinstance(labels, ast.Name):
                labels = constants[labels.id]
            yield Made(
                module=module,
                name=ast.literal_eval(call.args[0]),
                kind=KINDS[call.func.id],
                labels=tuple(ast.literal_eval(labels)) if labels is not None else (),
                help=ast.literal_eval(call.args[1]),
            )
