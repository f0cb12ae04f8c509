"""The brain connects to what its URL names, and says clearly when it cannot."""

import asyncio
from pathlib import Path

import pytest
from redis.asyncio import Redis

from shoal.brain.connection import Brain
from shoal.brain.settings import BrainSettings
from shoal.runtime.errors import Invalid, Unavailable

from .valkey_server import DEADLINE_S, ValkeyServer, free_port


async def test_it_starts_answers_and_stops_twice(valkey_url: str) -> None:
    brain = Brain(BrainSettings(redis_url=valkey_url))
    await brain.start()
    await brain.check()
    assert await brain.client.set("key", "value")
    assert await brain.client.get("key") == b"value"
    await brain.stop()
    await brain.stop()


async def test_stopping_without_a_start_does_nothing(valkey_url: str) -> None:
    await Brain(BrainSettings(redis_url=valkey_url)).stop()


async def test_an_unreachable_server_is_named_without_its_password() -> None:
    port = free_port()
    brain = Brain(BrainSettings(redis_url=f"redis://ann:s3cret@127.0.0.1:{port}/1"))
    with pytest.raises(Unavailable) as refusal:
        await brain.start()
    await brain.stop()
    assert refusal.value.code == "redis_unreachable"
    assert f"redis://127.0.0.1:{port}" in refusal.value.message
    assert refusal.value.hint
    assert "s3cret" not in str(refusal.value)


async def test_a_check_fails_once_the_server_is_gone(valkey: ValkeyServer, brain: Brain) -> None:
    await brain.check()
    await valkey.stop()
    with pytest.raises(Unavailable, match="does not answer"):
        await brain.check()


async def test_a_wrong_password_is_not_mistaken_for_a_dead_server(short_folder: Path) -> None:
    server = ValkeyServer.on_socket(short_folder, "--requirepass", "right")
    await server.start()
    path = server.url.removeprefix("unix://")
    try:
        for login in ("", ":wrong@"):
            brain = Brain(BrainSettings(redis_url=f"unix://{login}{path}"))
            with pytest.raises(Invalid) as refusal:
                await brain.start()
            await brain.stop()
            assert refusal.value.code == "redis_refused"
            assert "wrong" not in str(refusal.value)
        brain = Brain(BrainSettings(redis_url=f"unix://:right@{path}"))
        await brain.start()
        await brain.stop()
    finally:
        await server.stop()


async def test_more_callers_than_connections_wait_for_their_turn(brain: Brain) -> None:
    await asyncio.gather(*(brain.client.incr("calls") for _ in range(500)))
    assert await brain.client.get("calls") == b"500"


async def test_a_sentinel_names_the_master(short_folder: Path) -> None:
    master_port, sentinel_port, closed_port = free_port(), free_port(), free_port()
    master = ValkeyServer.on_port(short_folder, master_port, "--save", "", "--requirepass", "pa:ss")
    await master.start()
    configuration = short_folder / "sentinel.conf"
    configuration.write_text(
        f"sentinel monitor fish 127.0.0.1 {master_port} 1\nsentinel auth-pass fish pa:ss\n"
    )
    sentinel = ValkeyServer.on_port(short_folder, sentinel_port, str(configuration), "--sentinel")
    await sentinel.start()
    hosts = f"127.0.0.1:{closed_port},127.0.0.1:{sentinel_port}"
    brain = Brain(BrainSettings(redis_url=f"redis+sentinel://:pa%3Ass@{hosts}/fish/3"))
    try:
        async with asyncio.timeout(DEADLINE_S):
            await brain.start()
        await asyncio.gather(*(brain.client.incr("calls") for _ in range(200)))
        async with Redis(port=master_port, password="pa:ss", db=3) as direct:
            assert await direct.get("calls") == b"200"
    finally:
        await brain.stop()
        await sentinel.stop()
        await master.stop()


async def test_a_sentinel_that_does_not_know_the_master_is_said_so(short_folder: Path) -> None:
    port = free_port()
    configuration = short_folder / "sentinel.conf"
    configuration.touch()
    sentinel = ValkeyServer.on_port(short_folder, port, str(configuration), "--sentinel")
    await sentinel.start()
    brain = Brain(BrainSettings(redis_url=f"redis+sentinel://127.0.0.1:{port}/fish"))
    try:
        with pytest.raises(Unavailable) as refusal:
            await brain.start()
        assert refusal.value.code == "redis_unreachable"
        assert "MasterNotFoundError" in refusal.value.message
    finally:
        await brain.stop()
        await sentinel.stop()
