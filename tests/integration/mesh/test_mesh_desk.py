"""Data sets and pushes in the ledger, and one coordinator of several."""

import asyncio
from datetime import timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from prometheus_client import CollectorRegistry

from shoal.brain.connection import Brain
from shoal.brain.leases import Lease
from shoal.ledger.pool import Ledger
from shoal.mesh.coordinator import Coordinator
from shoal.mesh.measures import CoordinatorMeasures
from shoal.mesh.model import Status
from shoal.mesh.publishing import Published, publish_folder
from shoal.mesh.pushes import LEASE, Pushes
from shoal.mesh.service import MeshDesk, sql
from shoal.mesh.settings import CoordinatorSettings
from shoal.runtime.clock import SystemClock
from shoal.runtime.errors import NotFound
from shoal.vault.settings import VaultSettings
from shoal.vault.store import open_vault
from shoal.wire.mesh import PushDataSet

TTL = timedelta(seconds=1)


class Office:
    """A ledger with a user and a data set, and as many coordinators as one likes."""

    def __init__(self, ledger: Ledger, brain: Brain, folder: Path) -> None:
        self.ledger = ledger
        self.brain = brain
        self.vault = open_vault(VaultSettings(vault_url=(folder / "vault").as_uri()))
        self.folder = folder
        self.desk = MeshDesk(ledger, brain)
        self.user = uuid4()

    async def publish(self, content: bytes = b"model") -> Published:
        source = self.folder / "source"
        source.mkdir(exist_ok=True)
        (source / "file").write_bytes(content)
        published = await publish_folder(self.vault, source, name="model")
        async with self.ledger.connection() as connection:
            await connection.execute("INSERT INTO users (id) VALUES ($1) ON CONFLICT DO NOTHING", self.user)
            await sql.store_data_set.run(
                connection,
                id=published.id,
                name="model",
                size_bytes=published.data_set.size,
                shards=len(published.data_set.shards),
                files=1,
            )
        return published

    def coordinator(self) -> tuple[Pushes, Coordinator]:
        settings = CoordinatorSettings(mesh_relearn_s=0)
        coordinator = Coordinator(settings, SystemClock(), CoordinatorMeasures(CollectorRegistry()))
        pushes = Pushes(
            settings,
            coordinator,
            ledger=self.ledger,
            vault=self.vault,
            lease=Lease(self.brain.client, LEASE, ttl=TTL),
            brain=self.brain,
            woken=asyncio.Event(),
        )
        pushes._woken.set()
        return pushes, coordinator

    async def job(self, job_id: UUID) -> tuple[str, object]:
        async with self.ledger.connection() as connection:
            row = await connection.fetchrow("SELECT status, result FROM jobs WHERE id = $1", job_id)
        assert row is not None
        return row["status"], row["result"]


@pytest.fixture
def office(ledger: Ledger, brain: Brain, tmp_path: Path) -> Office:
    return Office(ledger, brain, tmp_path)


def works(pushes: Pushes) -> bool:
    return pushes.is_active


def active_job(coordinator: Coordinator) -> str | None:
    return coordinator.active.push.job_id if coordinator.active else None


def has_everything(coordinator: Coordinator, published: Published) -> None:
    """A server that says so."""
    active = coordinator.active
    assert active is not None
    count = len(published.data_set.shards)
    coordinator.poll(Status("one", "one:1", active.push.job_id, bytes([2**count - 1]), 1))


async def test_a_push_is_a_job_that_ends_when_the_servers_have_it(office: Office) -> None:
    published = await office.publish()
    pushed = await office.desk.push(office.user, PushDataSet(data_set="model"))
    pushes, coordinator = office.coordinator()
    await pushes._turn(1)
    has_everything(coordinator, published)
    assert (await office.job(pushed.job_id))[0] == "processing"
    async with asyncio.timeout(10):
        turn = 2
        while (await office.job(pushed.job_id))[0] != "complete":
            await pushes._turn(turn)
            await asyncio.sleep(0.1)
            turn += 1
    _, result = await office.job(pushed.job_id)
    assert isinstance(result, dict)
    assert result["complete"] == ["one"]
    assert (await office.desk.look()).coordinator is not None


async def test_what_nobody_published_cannot_be_pushed(office: Office) -> None:
    await office.publish()
    with pytest.raises(NotFound):
        await office.desk.push(office.user, PushDataSet(data_set="another"))


async def test_of_a_name_the_last_one_published_counts(office: Office) -> None:
    first = await office.publish(b"one")
    second = await office.publish(b"two")
    found = await office.desk.list_data_sets()
    assert [one.id for one in found.data_sets] == [second.id, first.id]
    pushed = await office.desk.push(office.user, PushDataSet(data_set="model"))
    assert pushed.data_set_id == second.id
    again = await office.publish(b"one")
    assert again.id == first.id
    assert (await office.desk.push(office.user, PushDataSet(data_set="model"))).data_set_id == first.id


async def test_one_of_two_coordinators_works_and_the_other_goes_on_when_it_dies(office: Office) -> None:
    published = await office.publish()
    pushed = await office.desk.push(office.user, PushDataSet(data_set="model"))
    dying, _ = office.coordinator()
    await dying._turn(1)
    assert works(dying)
    other, coordinator = office.coordinator()
    await other._turn(1)
    assert not works(other)
    assert active_job(coordinator) is None
    await asyncio.sleep(TTL.total_seconds() + 0.1)  # the lease of one who says nothing any more
    assert not works(dying)
    await other._turn(2)
    assert active_job(coordinator) == str(pushed.job_id)
    has_everything(coordinator, published)
    async with asyncio.timeout(10):
        while (await office.job(pushed.job_id))[0] != "complete":
            await other._turn(3)
            await other._lease.hold()
            await asyncio.sleep(0.1)
    await dying._turn(3)
    assert not works(dying)


async def test_pushes_go_one_after_the_other_and_a_cancelled_one_makes_room(office: Office) -> None:
    """Trap 6.7: a push that nobody can complete does not hold up the next for ever."""
    await office.publish()
    first = await office.desk.push(office.user, PushDataSet(data_set="model"))
    second = await office.desk.push(office.user, PushDataSet(data_set="model"))
    pushes, coordinator = office.coordinator()
    await pushes._turn(1)
    pushes._woken.set()
    await pushes._turn(2)
    assert coordinator.active is not None
    assert coordinator.active.push.job_id == str(first.job_id)
    async with office.ledger.connection() as connection:
        await connection.execute("SELECT cancel_job($1)", first.job_id)
    await pushes._turn(8)
    pushes._woken.set()
    await pushes._turn(10)
    assert coordinator.active is not None
    assert coordinator.active.push.job_id == str(second.job_id)


async def test_a_push_past_its_deadline_ends_for_those_who_have_it(office: Office) -> None:
    published = await office.publish()
    pushed = await office.desk.push(office.user, PushDataSet(data_set="model", deadline_s=0.5))
    pushes, coordinator = office.coordinator()
    await pushes._turn(1)
    has_everything(coordinator, published)
    assert coordinator.active is not None
    coordinator.poll(Status("slow", "slow:1", coordinator.active.push.job_id, b"\0", 1))
    async with asyncio.timeout(10):
        turn = 2
        while (await office.job(pushed.job_id))[0] != "complete":
            await pushes._turn(turn)
            await asyncio.sleep(0.1)
            turn += 1
    _, result = await office.job(pushed.job_id)
    assert isinstance(result, dict)
    assert (result["complete"], result["missing"]) == (["one"], ["slow"])


async def test_a_manifest_that_is_gone_fails_the_job(office: Office) -> None:
    published = await office.publish()
    pushed = await office.desk.push(office.user, PushDataSet(data_set="model"))
    await office.vault.delete([f"mesh/data-sets/{published.id}.json"])
    pushes, coordinator = office.coordinator()
    await pushes._turn(1)
    assert (await office.job(pushed.job_id))[0] == "failed"
    assert coordinator.active is None
