"""Scripts run by name on a real server, also when it forgot them."""

import sys
from pathlib import Path

import pytest
from redis.asyncio import Redis

from shoal.brain.scripts import Script, Scripts, Words, load_scripts
from shoal.runtime.errors import Invalid

from .valkey_server import ValkeyServer

ADD = """\
-- add: add `amount` to the counter, and note who it was
-- keys: counter, notes...
-- args: amount, names...
-- returns: the new count
-- touches: counter, notes
local counter = KEYS[1]
local amount = ARGV[1]
for i = 2, #KEYS do
  redis.call('RPUSH', KEYS[i], unpack(ARGV, 2))
end
return redis.call('INCRBY', counter, amount)
"""

KEYS: Words = {"counter": "c", "notes": ["n1", "n2"]}
ARGS: Words = {"names": ["ann", "bob"], "amount": 2}


@pytest.fixture
def scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scripts:
    package = tmp_path / "room_with_scripts"
    (package / "lua").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "lua" / "add.lua").write_text(ADD)
    (package / "lua" / "notes.txt").write_text("not a script")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "room_with_scripts", raising=False)
    return load_scripts("room_with_scripts")


async def test_names_become_positions(client: Redis, scripts: Scripts) -> None:
    assert await scripts.add(client, keys=KEYS, args=ARGS) == 2
    assert await client.get("c") == b"2"
    assert await client.lrange("n2", 0, -1) == [b"ann", b"bob"]


async def test_a_call_survives_script_flush(client: Redis, scripts: Scripts) -> None:
    assert await scripts.add(client, keys=KEYS, args=ARGS) == 2
    await client.script_flush()
    assert await scripts.add(client, keys=KEYS, args=ARGS) == 4
    assert await client.script_exists(scripts.add.sha) == [True]


async def test_a_call_survives_a_restart_of_the_server(
    valkey: ValkeyServer, client: Redis, scripts: Scripts
) -> None:
    assert await scripts.add(client, keys=KEYS, args=ARGS) == 2
    await valkey.restart()
    assert await scripts.add(client, keys=KEYS, args=ARGS) == 2, "the server came back empty"


async def test_after_the_first_call_only_the_hash_travels(client: Redis, scripts: Scripts) -> None:
    await scripts.add(client, keys=KEYS, args=ARGS)
    await client.config_resetstat()
    await scripts.add(client, keys=KEYS, args=ARGS)
    statistics = await client.info("commandstats")
    assert statistics["cmdstat_evalsha"]["calls"] == 1
    assert not {"cmdstat_eval", "cmdstat_script|load"} & set(statistics)


@pytest.mark.parametrize("transaction", [True, False])
async def test_a_pipeline_needs_no_loaded_script(
    client: Redis, scripts: Scripts, *, transaction: bool
) -> None:
    async with client.pipeline(transaction=transaction) as pipeline:
        pipeline.set("before", 1)
        scripts.add.queue(pipeline, keys=KEYS, args=ARGS)
        scripts.add.queue(pipeline, keys=KEYS, args=ARGS)
        await client.script_flush()
        assert await pipeline.execute() == [True, 2, 4]
        scripts.add.queue(pipeline, keys=KEYS, args=ARGS)
        assert await pipeline.execute() == [6]


async def test_a_pipeline_survives_a_flush_in_its_midst(client: Redis, scripts: Scripts) -> None:
    async with client.pipeline(transaction=False) as pipeline:
        scripts.add.queue(pipeline, keys=KEYS, args=ARGS)
        pipeline.script_flush()
        scripts.add.queue(pipeline, keys=KEYS, args=ARGS)
        assert await pipeline.execute() == [2, True, 4]


@pytest.mark.parametrize(
    ("keys", "args", "complaint"),
    [
        ({"notes": []}, {"amount": 1, "names": []}, "needs the key 'counter'"),
        ({"counter": "c"}, {"amount": 1, "names": []}, "needs the key 'notes'"),
        ({"counter": "c", "notes": [], "x": 1}, {"amount": 1, "names": []}, "takes no key 'x'"),
        ({"counter": "c", "notes": []}, {"names": []}, "needs the arg 'amount'"),
        ({"counter": "c", "notes": []}, {"amount": 1, "name": []}, "needs the arg 'names'"),
        ({"counter": "c", "notes": []}, {"amount": 1, "names": "ann"}, "takes a list for 'names'"),
        ({"counter": "c", "notes": []}, {"amount": True, "names": []}, "'amount' is a bool"),
        ({"counter": "c", "notes": []}, {"amount": None, "names": []}, "'amount' is a NoneType"),
        ({"counter": "c", "notes": []}, {"amount": [1], "names": []}, "'amount' is a list"),
        ({"counter": "c", "notes": []}, {"amount": 1, "names": [None]}, "'names' is a NoneType"),
        (None, None, "needs the key 'counter'"),
    ],
)
async def test_wrong_names_are_refused_before_anything_is_sent(
    client: Redis, scripts: Scripts, keys: object, args: object, complaint: str
) -> None:
    await client.config_resetstat()
    with pytest.raises(TypeError, match=complaint):
        await scripts.add(client, keys=keys, args=args)  # type: ignore[arg-type] # the very point
    pipeline = client.pipeline()
    with pytest.raises(TypeError, match=complaint):
        scripts.add.queue(pipeline, keys=keys, args=args)  # type: ignore[arg-type] # the very point
    assert len(pipeline) == 0
    assert not [name for name in await client.info("commandstats") if "eval" in name]


def test_an_unknown_script_is_an_attribute_error_that_names_the_nearest(scripts: Scripts) -> None:
    with pytest.raises(AttributeError, match=r"no script ad\.lua .* Did you mean add\?"):
        _ = scripts.ad
    assert dir(scripts) == ["add"]


async def test_numbers_keep_all_their_digits_on_the_way(client: Redis) -> None:
    echo = Script(
        "echo",
        "-- echo: give it back\n-- keys: none\n-- args: number\n"
        "-- returns: the number\n-- touches: none\nreturn ARGV[1]\n",
    )
    assert float(await echo(client, args={"number": 0.1 + 0.2})) == 0.1 + 0.2
    assert int(await echo(client, args={"number": 2**62 + 1})) == 2**62 + 1


DOUBLE = """\
-- double: twice the amount
-- keys: none
-- args: amount
-- returns: the double
-- touches: none
-- uses: twice
return twice(ARGV[1])
"""


def _folder(package: Path, *, part: str) -> None:
    (package / "lua" / "parts").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "lua" / "double.lua").write_text(DOUBLE)
    (package / "lua" / "parts" / f"{part}.lua").write_text(
        "-- twice: said once\nlocal function twice(n) return n * 2 end\n"
    )


async def test_a_script_uses_the_parts_it_names(
    client: Redis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _folder(tmp_path / "room_with_parts", part="twice")
    monkeypatch.syspath_prepend(str(tmp_path))
    scripts = load_scripts("room_with_parts")
    assert await scripts.double(client, args={"amount": 21}) == 42
    assert dir(scripts) == ["double"]


def test_a_part_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _folder(tmp_path / "room_without_a_part", part="thrice")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(Invalid, match="uses the part 'twice'"):
        load_scripts("room_without_a_part")
