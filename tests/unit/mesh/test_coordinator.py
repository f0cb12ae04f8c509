"""The coordinator without a network, on a clock that is moved by hand."""

import asyncio

import numpy as np
import pytest
from prometheus_client import CollectorRegistry

from shoal.mesh.coordinator import Coordinator
from shoal.mesh.measures import CoordinatorMeasures
from shoal.mesh.model import Ended, Push, Status, Transfer, Work
from shoal.mesh.settings import CoordinatorSettings
from shoal.runtime.clock import SystemClock
from shoal.runtime.errors import Conflict
from shoal.wire.data_sets import DataFile, DataSet, Shard

SHARDS = 4


class HandClock(SystemClock):
    def __init__(self) -> None:
        self.moment = 100.0

    def monotonic(self) -> float:
        return self.moment

    def move(self, seconds: float) -> None:
        self.moment += seconds


def bitmap(*owned: int) -> bytes:
    bits = np.zeros(SHARDS, np.bool_)
    bits[list(owned)] = True
    return np.packbits(bits, bitorder="little").tobytes()


def source_of(work: Work) -> str:
    assert work.transfer is not None
    return work.transfer.source_id


class Desk:
    def __init__(self) -> None:
        self.clock = HandClock()
        settings = CoordinatorSettings(mesh_relearn_s=0, mesh_lease_s=10, mesh_dead_after_s=60)
        self.coordinator = Coordinator(settings, self.clock, CoordinatorMeasures(CollectorRegistry()))
        self.ended: list[Ended] = []
        data_set = DataSet(
            name="n",
            files=[DataFile("f", SHARDS)],
            shards=[Shard(f"{number:064x}", 1) for number in range(SHARDS)],
        )
        self.coordinator.begin(Push("job", "id", data_set, b""), self.ended.append)

    def poll(
        self, name: str, *owned: int, epoch: int = 1, running: tuple[str, ...] = ()
    ) -> "asyncio.Future[Work]":
        status = Status(name, f"{name}:1", "job", bitmap(*owned), epoch, running=running)
        return self.coordinator.poll(status)

    async def work(self, name: str, *owned: int, epoch: int = 1) -> Transfer:
        async with asyncio.timeout(1):
            work = await self.poll(name, *owned, epoch=epoch)
        transfer = work.transfer
        assert transfer is not None
        return transfer

    def complete(self, transfer: Transfer, outcome: str = "SUCCEEDED") -> None:
        self.coordinator.complete(
            transfer.server_id,
            task_id=transfer.id,
            job_id="job",
            shard=transfer.shard,
            outcome=outcome,
            received=1,
        )

    def beat(self, name: str, *downloads: tuple[Transfer, int]) -> list[str]:
        told = [(one.id, count, "job", one.shard, one.source_address) for one, count in downloads]
        return self.coordinator.heartbeat(name, downloads=told, uploads=[], leaving=False)


async def test_a_transfer_that_makes_progress_lives_and_one_that_does_not_is_given_to_another() -> None:
    """Trap 6.6: a lease is renewed by progress, not by time."""
    desk = Desk()
    transfer = await desk.work("a")
    assert transfer.source_id == ""
    waiting = desk.poll("b")
    for count in range(1, 10):
        desk.clock.move(6)
        assert desk.beat("a", (transfer, count)) == []
        desk.beat("b")
        desk.coordinator.tick()
    assert not waiting.done()  # the one origin slot is taken
    desk.clock.move(11)
    desk.beat("a", (transfer, 9))
    desk.beat("b")
    desk.coordinator.tick()
    assert source_of(await waiting) == ""
    assert desk.beat("a", (transfer, 10)) == [transfer.id]


async def test_a_late_completion_does_not_end_the_transfer_that_came_after() -> None:
    """Trap 6.5: what ended is named by its task."""
    desk = Desk()
    first = await desk.work("a")
    desk.clock.move(11)
    desk.coordinator.tick()
    second = await desk.work("a")
    desk.complete(first)
    assert second.id in desk.coordinator.servers["a"].transfers
    desk.complete(second)
    assert desk.coordinator.servers["a"].transfers == {}


async def test_a_poll_that_comes_again_takes_the_place_of_the_one_before() -> None:
    """Trap 6.8: a server stands in the queue once, and nothing goes to a poll that is dead."""
    desk = Desk()
    blocking = await desk.work("z")
    first = desk.poll("a")
    second = desk.poll("a")
    assert first.cancelled()
    desk.complete(blocking)
    assert (await second).transfer is not None


async def test_an_answer_that_did_not_get_out_is_taken_back() -> None:
    """Trap 6.8: whoever was cancelled while its answer was on its way holds nothing."""
    desk = Desk()
    poll = desk.poll("a")
    other = desk.poll("b")
    await asyncio.sleep(0)
    assert poll.done()
    desk.coordinator.drop_poll("a", poll)
    assert desk.coordinator.servers["a"].transfers == {}
    async with asyncio.timeout(1):
        await other


async def test_a_task_that_never_arrived_is_free_with_the_next_poll() -> None:
    desk = Desk()
    lost = await desk.work("a")
    again = await desk.work("a")
    assert again.id != lost.id
    assert list(desk.coordinator.servers["a"].transfers) == [again.id]


async def test_a_completion_that_got_lost_is_seen_in_the_next_poll() -> None:
    desk = Desk()
    first = await desk.work("a")
    second = await desk.work("a", first.shard)
    assert second.shard != first.shard
    assert desk.coordinator.active is not None
    assert desk.coordinator.active.from_origin == 1


async def test_whoever_died_is_no_uploader_and_holds_no_slot() -> None:
    """Trap 6.4: with a server its transfers end on both sides."""
    desk = Desk()
    desk.poll("full", 0, 1, 2, 3)
    transfer = await desk.work("a")
    assert transfer.source_id == "full"
    desk.clock.move(50)
    desk.beat("full")
    desk.clock.move(11)
    desk.coordinator.tick()
    assert set(desk.coordinator.servers) == {"full"}
    assert (await desk.work("b")).source_id == "full"


async def test_a_server_that_starts_anew_is_known_by_what_it_says_now() -> None:
    """Trap 6.11: a new epoch ends what the old process was at; an old process is not listened to."""
    desk = Desk()
    desk.poll("a", 0, 1, 2, 3)
    await asyncio.sleep(0)
    transfer = await desk.work("a", epoch=2)
    assert transfer.source_id == ""
    with pytest.raises(Conflict):
        desk.poll("a", 0, 1, epoch=1)


async def test_a_server_that_starts_anew_still_belongs_to_the_goal() -> None:
    desk = Desk()
    desk.poll("a", 0, 1, 2, 3)
    desk.poll("b", 0, 1, 2)
    await asyncio.sleep(0)
    desk.clock.move(2)
    desk.poll("b", epoch=2)
    desk.poll("a", 0, 1, 2, 3)
    await asyncio.sleep(0)
    assert desk.ended == []
    assert desk.coordinator.active is not None
    assert desk.coordinator.active.goal == {"a", "b"}


async def test_a_lost_disk_at_the_same_address_is_another_server() -> None:
    desk = Desk()
    desk.poll("a", 0, 1, 2, 3)
    status = Status("b", "a:1", "job", bitmap(), 1)
    desk.coordinator.poll(status)
    assert set(desk.coordinator.servers) == {"b"}


async def test_a_peer_that_sends_wrong_bytes_is_not_asked_again() -> None:
    """Trap 6.12: by the one who got them never, by all when a second says so."""
    desk = Desk()
    desk.poll("bad", 0, 1, 2, 3)
    for name in ("a", "b"):
        transfer = await desk.work(name)
        assert transfer.source_id == "bad"
        desk.complete(transfer, "CORRUPT")
    # Nobody else has anything: so all of it counts as lost, and comes from the origin.
    assert (await desk.work("c")).source_id == ""


async def test_one_who_accuses_everybody_is_not_believed() -> None:
    desk = Desk()
    names = ["p", "q", "r", "s"]
    for name in names:
        desk.poll(name, 0, 1, 2, 3)
    for _ in names:
        desk.complete(await desk.work("liar"), "CORRUPT")
    desk.complete(await desk.work("other"), "CORRUPT")
    asked = {(await desk.work(f"new{number}")).source_id for number in range(4)}
    assert asked == set(names)


async def test_a_peer_that_refuses_does_not_have_the_shard_until_it_says_so() -> None:
    desk = Desk()
    desk.poll("empty", 0)
    transfer = await desk.work("a", 1, 2, 3)
    desk.complete(transfer, "REFUSED")
    assert (await desk.work("a", 1, 2, 3)).source_id == ""


async def test_the_push_ends_when_everybody_of_its_goal_has_everything() -> None:
    desk = Desk()
    desk.poll("a", 0, 1, 2)
    desk.poll("b", 0, 1, 2, 3)
    transfer = await desk.work("a", 0, 1, 2)
    desk.complete(transfer)
    desk.clock.move(2)
    desk.poll("a", 0, 1, 2, 3)
    await asyncio.sleep(0)
    assert [one.complete for one in desk.ended] == [("a", "b")]


async def test_a_bitmap_of_another_length_says_nothing() -> None:
    desk = Desk()
    status = Status("a", "a:1", "job", b"\x0f" * 100, 1)
    desk.coordinator.poll(status)
    assert desk.coordinator.active is not None
    assert not desk.coordinator.active.is_complete("a")


async def test_a_simple_client_needs_neither_id_nor_task() -> None:
    """The fields a simple client knows are enough to get everything from the origin."""
    desk = Desk()
    owned: list[int] = []
    while len(owned) < SHARDS:
        status = Status("c:1", "c:1", "job" if owned else "", bitmap(*owned), is_ours=False)
        async with asyncio.timeout(1):
            work = await desk.coordinator.poll(status)
        assert work.transfer is not None
        owned.append(work.transfer.shard)
        desk.coordinator.complete(
            "c:1", task_id="", job_id="job", shard=work.transfer.shard, outcome="SUCCEEDED", received=0
        )
    assert desk.coordinator.active is not None
    assert desk.coordinator.active.is_complete("c:1")
