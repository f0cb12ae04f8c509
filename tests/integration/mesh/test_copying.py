import asyncio

from shoal.mesh.settings import CoordinatorSettings

from .swarm import QUICK, TOKEN, Mesh


async def test_every_server_gets_everything_and_the_origin_gives_each_shard_once(mesh: Mesh) -> None:
    """Trap 6.8: whoever has everything waits on, and holds up nobody."""
    published = await mesh.publish(20 * 1024 * 1024 + 7)
    for number in range(4):
        await mesh.start_agent(f"agent{number}")
    async with asyncio.timeout(60):
        ended = await (await mesh.push(published))
    assert len(ended.complete) == 4
    assert ended.missing == ()
    assert {shard.hash: shard.size for shard in published.data_set.shards} == dict(mesh.sent)
    assert ended.from_peers == 3 * ended.from_origin
    await mesh.until_laid_out("agent0", "agent1", "agent2", "agent3")


async def test_a_second_version_is_copied_as_far_as_it_differs(mesh: Mesh) -> None:
    """Trap 6.13: what two data sets share is there once, and is not copied again."""
    await mesh.start_agent("one")
    await mesh.start_agent("two")
    first = await mesh.publish(5 * 1024 * 1024)
    await (await mesh.push(first, job_id="first"))
    (mesh.folder / "sources" / "model" / "deep" / "er" / "small.txt").write_text("other words")
    second = await mesh.publish_again()
    assert second.id != first.id
    sent = sum(mesh.sent.values())
    ended = await (await mesh.push(second, job_id="second"))
    assert ended.from_origin == 1
    assert sum(mesh.sent.values()) - sent < 100
    await mesh.until(lambda: (mesh.folder / "two/data/model/deep/er/small.txt").read_text() == "other words")


async def test_a_late_server_is_served_also_when_the_push_is_over(mesh: Mesh) -> None:
    """Trap 6.7: the push ends for those who were there, and goes on for whoever comes."""
    published = await mesh.publish(4 * 1024 * 1024)
    await mesh.start_agent("early")
    ended = await (await mesh.push(published))
    assert len(ended.complete) == 1
    sent = dict(mesh.sent)
    await mesh.start_agent("late")
    await mesh.until_laid_out("late")
    assert dict(mesh.sent) == sent


async def test_a_push_can_be_for_some_servers(mesh: Mesh) -> None:
    published = await mesh.publish(3 * 1024 * 1024)
    await mesh.start_agent("with", mesh_labels=("gpu",))
    await mesh.start_agent("without")
    ended = await (await mesh.push(published, to=("gpu",)))
    assert len(ended.complete) == 1
    await mesh.until_laid_out("with")
    assert not (mesh.folder / "without" / "data").exists()


async def test_a_server_that_dies_holds_up_nobody(mesh: Mesh) -> None:
    """Trap 6.7: the goal is who was there and lives."""
    published = await mesh.publish(12 * 1024 * 1024)
    await mesh.start_agent("one", mesh_down_mb_s=8)
    dying = await mesh.start_agent("dying", mesh_down_mb_s=4)
    ended = await mesh.push(published)
    await mesh.until(lambda: sum(mesh.sent.values()) > 0)
    dying._tasks[-1].cancel()  # without a word: no last heartbeat
    async with asyncio.timeout(30):
        assert len((await ended).complete) == 1
    await mesh.until_laid_out("one")


async def test_nobody_without_the_token_gets_work(mesh: Mesh) -> None:
    await mesh.start_agent("stranger", mesh_token="another")
    published = await mesh.publish(1024 * 1024)
    await mesh.push(published)
    await asyncio.sleep(0.5)
    assert mesh.coordinator.servers == {}
    assert TOKEN != "another"


async def test_a_coordinator_that_starts_anew_learns_what_is_there(mesh: Mesh) -> None:
    """Trap 6.10: what servers have and what they are at is asked, so that nothing leaves the origin twice."""
    mesh.settings = CoordinatorSettings(
        coordinator_listen=QUICK.coordinator_listen, mesh_dead_after_s=3, mesh_lease_s=3, mesh_relearn_s=1.5
    )
    published = await mesh.publish(16 * 1024 * 1024)
    for number in range(3):
        await mesh.start_agent(f"agent{number}", mesh_down_mb_s=6)
    await mesh.push(published)
    await mesh.until(lambda: len(mesh.sent) >= 5)
    await mesh.kill_coordinator()
    await mesh.start_coordinator()
    ended = await mesh.push(published)
    async with asyncio.timeout(60):
        assert len((await ended).complete) == 3
    await mesh.until_laid_out("agent0", "agent1", "agent2")
    assert {shard.hash: shard.size for shard in published.data_set.shards} == dict(mesh.sent)


async def test_of_two_coordinators_the_active_one_is_asked(mesh: Mesh) -> None:
    mesh.is_active = False
    published = await mesh.publish(1024 * 1024)
    ended = await mesh.push(published)
    await mesh.start_agent("one")
    await asyncio.sleep(0.3)
    assert mesh.coordinator.servers == {}
    mesh.is_active = True
    async with asyncio.timeout(20):
        assert len((await ended).complete) == 1


async def test_a_server_with_less_room_than_a_shard_is_left_out_and_says_so(mesh: Mesh) -> None:
    published = await mesh.publish(3 * 1024 * 1024)
    await mesh.start_agent("small", mesh_quota_bytes=1024 * 1024 + 100)
    await mesh.start_agent("large")
    await mesh.push(published)
    await mesh.until_laid_out("large")
    small = next(one for one in mesh.coordinator.servers.values() if one.full_until)
    assert mesh.coordinator.active is not None
    assert not mesh.coordinator.active.is_complete(small.id)
