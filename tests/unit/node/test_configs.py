"""Configs are fetched once, kept by their hash, and never believed."""

import asyncio
import gc
import os
from pathlib import Path

import pytest

from shoal.node.configs import ConfigCache, hash_of
from shoal.runtime.errors import Invalid, NotFound, ShoalError, Unavailable


class Server:
    def __init__(self, *configs: bytes) -> None:
        self.configs = {hash_of(config): config for config in configs}
        self.asked: list[str] = []

    async def fetch(self, config_hash: str) -> bytes:
        self.asked.append(config_hash)
        await asyncio.sleep(0)
        if config_hash not in self.configs:
            raise NotFound("config_not_found", "There is none.")
        return self.configs[config_hash]


CONFIG = b'{"spells": []}'
HASH = hash_of(CONFIG)


def cache(folder: Path, server: Server, most_bytes: int = 1000) -> ConfigCache:
    return ConfigCache(folder / "configs", server.fetch, most_bytes=most_bytes)


async def test_it_is_fetched_once_however_many_want_it(tmp_path: Path) -> None:
    server = Server(CONFIG)
    configs = cache(tmp_path, server)
    assert await asyncio.gather(*(configs.get(HASH) for _ in range(5))) == [{"spells": []}] * 5
    assert await cache(tmp_path, server).get(HASH) == {"spells": []}
    assert server.asked == [HASH]


async def test_one_who_gives_up_does_not_take_it_from_the_others(tmp_path: Path) -> None:
    configs = cache(tmp_path, Server(CONFIG))
    first, second = asyncio.create_task(configs.get(HASH)), asyncio.create_task(configs.get(HASH))
    await asyncio.sleep(0)
    first.cancel()
    assert await second == {"spells": []}


async def test_an_answer_nobody_waits_for_any_more_disturbs_nobody(tmp_path: Path) -> None:
    """Its chunk was dropped while the config was under way, and so the server did not send it."""
    disturbed: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, what: disturbed.append(what))
    waiting = asyncio.create_task(cache(tmp_path, Server()).get(HASH))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    for _ in range(5):
        await asyncio.sleep(0)
    gc.collect()
    assert disturbed == []


async def test_what_the_server_sends_is_held_to_its_hash(tmp_path: Path) -> None:
    server = Server()
    server.configs[HASH] = b"{}"
    with pytest.raises(Unavailable) as refused:
        await cache(tmp_path, server).get(HASH)
    assert refused.value.code == "config_damaged"
    assert cache(tmp_path, server).read(HASH) is None


async def test_what_lies_on_the_disk_is_held_to_its_hash(tmp_path: Path) -> None:
    server = Server(CONFIG)
    await cache(tmp_path, server).get(HASH)
    (tmp_path / "configs" / f"{HASH}.json").write_bytes(b'{"spells": ["wish"]}')
    assert await cache(tmp_path, server).get(HASH) == {"spells": []}
    assert server.asked == [HASH, HASH]


async def test_what_is_not_used_goes_first(tmp_path: Path) -> None:
    contents = [b'"%d%s"' % (number, b"x" * 97) for number in range(5)]
    server = Server(*contents)
    configs = cache(tmp_path, server, most_bytes=300)
    for age, content in enumerate(contents[:3]):
        await configs.get(hash_of(content))
        os.utime(tmp_path / "configs" / f"{hash_of(content)}.json", (age, age))
    await configs.get(hash_of(contents[0]))  # used again
    await configs.get(hash_of(contents[3]))
    kept = {file.stem for file in (tmp_path / "configs").iterdir()}
    assert kept == {hash_of(contents[number]) for number in (0, 2, 3)}


@pytest.mark.parametrize("config", [b"{", b"", b"\xff", b"[" * 100_000])
async def test_what_is_not_json_is_no_config(tmp_path: Path, config: bytes) -> None:
    with pytest.raises(Invalid):
        await cache(tmp_path, Server(config)).get(hash_of(config))


@pytest.mark.parametrize("config_hash", ["", "../x", HASH.upper(), HASH + "\n", HASH[1:]])
async def test_what_is_no_hash_makes_no_path(tmp_path: Path, config_hash: str) -> None:
    server = Server()
    with pytest.raises(Invalid):
        await cache(tmp_path, server).get(config_hash)
    assert server.asked == []


async def test_a_failure_is_not_remembered(tmp_path: Path) -> None:
    server = Server()
    configs = cache(tmp_path, server)
    with pytest.raises(ShoalError):
        await configs.get(HASH)
    server.configs[HASH] = CONFIG
    assert await configs.get(HASH) == {"spells": []}
