"""The metrics of a worker process, read as Prometheus reads them."""

import random
import socket
from contextlib import ExitStack, closing, suppress

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from shoal.roles.up import free_port

from .field import APPS, Field, so, until

pytestmark = pytest.mark.newest_servers


class Port:
    def __init__(self, number: int | None = None) -> None:
        self.number = number or free_port("127.0.0.1")

    async def value(self, name: str, **labels: str) -> float:
        async with httpx.AsyncClient(trust_env=False) as client:
            answer = await client.get(f"http://127.0.0.1:{self.number}/metrics")
        assert answer.headers["content-type"].startswith("text/plain")
        (found,) = (
            sample.value
            for family in text_string_to_metric_families(answer.text)
            for sample in family.samples
            if sample.name == f"shoal_worker_{name}" and sample.labels == labels
        )
        return float(found)

    async def shows(self, expected: float, name: str, **labels: str) -> None:
        async def does() -> bool:
            return await self.value(name, **labels) == expected

        await until(does)


def two_free_ports_in_a_row() -> tuple[Port, Port]:
    """Below those that the system gives to connections: one of those would soon have the second."""
    for number in random.sample(range(20_000, 32_000), 100):
        with suppress(OSError), ExitStack() as taken:
            for port in (number, number + 1):
                taken.enter_context(closing(socket.create_server(("127.0.0.1", port))))
            return Port(number), Port(number + 1)
    raise AssertionError("no two ports in a row are free")


async def test_what_a_worker_does_can_be_read_from_its_port(field: Field) -> None:
    port = Port()
    worker = await field.worker(worker_metrics_port=port.number)
    job = await field.job("quick", "quick", "doomed", "patient")

    await so(field.starts)
    await port.shows(1, "tasks_running", task_type="patient")
    await port.shows(2, "tasks_completed_total", task_type="quick")
    await port.shows(1, "tasks_failed_total", task_type="doomed", code="error")
    await field.ledger.cancel_job(job.id)

    await port.shows(1, "tasks_lost_total", task_type="patient")
    await port.shows(0, "tasks_running", task_type="patient")
    assert await port.value("task_duration_seconds_count", task_type="quick") == 2
    assert await worker.stop() == 0


async def test_processes_under_one_parent_take_one_port_each(field: Field) -> None:
    first, second = two_free_ports_in_a_row()
    parent = field.command(
        "run", f"{APPS}:one", "--processes", "2", "--concurrency", "1", worker_metrics_port=first.number
    )
    await parent.start()
    await field.job("patient", "patient")

    for port in (first, second):
        await port.shows(1, "tasks_running", task_type="patient")

    field.let_go()
    assert await parent.stop() == 0


async def test_a_port_that_is_taken_is_named_before_anything_is_claimed(field: Field) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        number = taken.getsockname()[1]
        worker = field.command("run", f"{APPS}:one", worker_metrics_port=number)
        with pytest.raises(AssertionError):
            await worker.start()

    assert await worker.ended() == 5
    assert str(number) in worker.last_words()
    assert worker.last_words().endswith("(metrics_port_busy)")
