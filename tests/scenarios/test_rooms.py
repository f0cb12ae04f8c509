"""One small run of each room, with a fixed seed. ``make scenarios`` runs them whole, and many."""

from pathlib import Path

import pytest

from tests.scenarios.rooms import fleet, foundation, jobs, mesh, schedules
from tests.scenarios.strikes import Verdict


@pytest.mark.parametrize("seed", ["foundation.test.0", "foundation.test.1"])
async def test_a_job_survives_the_death_of_everything_and_of_up_alone(tmp_path: Path, seed: str) -> None:
    verdict = Verdict(seed)

    await foundation.run(tmp_path, verdict)

    assert verdict.complaints == []


async def test_every_task_counts_once_while_workers_and_postgres_are_struck(tmp_path: Path) -> None:
    verdict = Verdict("jobs.test.1")

    await jobs.run(tmp_path, verdict, load=jobs.SMALL)

    assert verdict.complaints == []


@pytest.mark.timeout(300)
async def test_every_chunk_counts_once_while_a_fleet_is_struck(tmp_path: Path) -> None:
    verdict = Verdict("fleet.test.1")

    await fleet.run(tmp_path, verdict, load=fleet.SMALL)

    assert verdict.complaints == []


@pytest.mark.timeout(300)
async def test_every_occurrence_is_fired_once_while_leaders_and_postgres_are_struck(tmp_path: Path) -> None:
    verdict = Verdict("schedules.test.1")

    await schedules.run(tmp_path, verdict, load=schedules.SMALL)

    assert verdict.complaints == []


@pytest.mark.timeout(300)
async def test_every_machine_gets_every_byte_while_machines_and_coordinator_are_struck(
    tmp_path: Path,
) -> None:
    """Trap 6.10: with the coordinator, everything it knew is gone, and comes again from the machines."""
    verdict = Verdict("mesh.test.1")

    await mesh.run(tmp_path, verdict, load=mesh.SMALL)

    assert verdict.complaints == []
