"""The queue in numbers: by type, cheap to ask for, and never old."""

from datetime import UTC, datetime, timedelta

import pytest
from prometheus_client import CollectorRegistry

from shoal.jobs import measures
from shoal.jobs.measures import QueueMeasures
from shoal.ledger.pool import Ledger
from tests.integration.jobs.ledger_client import LedgerClient, graph, task


class Shown:
    """What Prometheus would read now."""

    def __init__(self, ledger: Ledger) -> None:
        self._measures = QueueMeasures(ledger)
        self._registry = CollectorRegistry()
        self._registry.register(self._measures)

    async def value(self, name: str, task_type: str) -> float | None:
        await self._measures.refresh()
        return self._registry.get_sample_value(f"shoal_queue_{name}", {"task_type": task_type})


@pytest.fixture
def shown(ledger: Ledger) -> Shown:
    return Shown(ledger)


async def test_ready_and_running_are_counted_by_type(shown: Shown, ann: LedgerClient) -> None:
    later = datetime.now(UTC) + timedelta(hours=1)
    await ann.start(
        graph(
            *(task(f"w{number}") for number in range(5)),
            task("o", task_type="other"),
            task("waits", "o", task_type="other"),
        )
    )
    await ann.create(run_at=later)
    await ann.claim(2)

    assert await shown.value("tasks_ready", "work") == 3
    assert await shown.value("tasks_running", "work") == 2
    assert await shown.value("tasks_ready", "other") == 1
    assert await shown.value("tasks_running", "other") == 0
    assert await shown.value("tasks_ready", "plan:graph") is None


async def test_the_age_is_that_of_the_oldest_and_not_of_its_delay(shown: Shown, ann: LedgerClient) -> None:
    job = await ann.start(graph(task("old"), task("young"), task("was_delayed", task_type="other")))
    age = "UPDATE job_tasks SET created_at = created_at - make_interval(secs => $2) WHERE id = $1"
    await ann.connection.execute(age, job.tasks["old"], 600)
    await ann.connection.execute(age, job.tasks["was_delayed"], 600)
    await ann.connection.execute(
        "UPDATE job_tasks SET run_at = clock_timestamp() WHERE id = $1", job.tasks["was_delayed"]
    )

    old = await shown.value("oldest_ready_age_seconds", "work")
    delayed = await shown.value("oldest_ready_age_seconds", "other")

    assert old is not None
    assert delayed is not None
    assert 600 <= old < 700
    assert delayed < 100


async def test_asked_again_at_once_it_does_not_look_again(
    shown: Shown, ann: LedgerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measures, "FRESH_S", 3600)
    await ann.start(graph(task("a")))
    assert await shown.value("tasks_ready", "work") == 1
    await ann.start(graph(task("b")))
    assert await shown.value("tasks_ready", "work") == 1

    monkeypatch.setattr(measures, "FRESH_S", 0)
    assert await shown.value("tasks_ready", "work") == 2


async def test_there_are_never_more_types_than_it_may_show(
    shown: Shown, ann: LedgerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measures, "MOST_TYPES", 2)
    await ann.start(graph(*(task(f"{n}{i}", task_type=f"t{n}") for n in range(1, 5) for i in range(n))))

    values = [await shown.value("tasks_ready", f"t{number}") for number in range(1, 5)]

    assert values == [None, None, 3, 4]


async def test_what_cannot_be_read_is_not_shown(
    shown: Shown, ledger: Ledger, ann: LedgerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measures, "FRESH_S", 0)
    await ann.start(graph(task("a")))
    assert await shown.value("tasks_ready", "work") == 1

    await ledger.stop()

    assert await shown.value("tasks_ready", "work") is None
