"""One process at a time holds a data directory."""

import asyncio
import os
import sys
from datetime import UTC, datetime, timedelta

import pytest

from shoal.local.directory import DataDirectory
from shoal.runtime.errors import Conflict

HOLD = """
import sys, time
from pathlib import Path
from shoal.local.directory import DataDirectory

hold = DataDirectory.prepare(Path(sys.argv[1])).hold(url="http://127.0.0.1:7777")
print("held", flush=True)
time.sleep(600)
"""


def test_a_second_hold_is_refused_and_told_who_has_the_first(empty: DataDirectory) -> None:
    directory = DataDirectory.prepare(empty.path)
    assert directory.holder() is None
    hold = directory.hold(url="")
    hold.update(url="http://127.0.0.1:8080")
    holder = directory.holder()
    assert holder is not None
    assert (holder.pid, holder.url) == (os.getpid(), "http://127.0.0.1:8080")
    assert datetime.now(UTC) - holder.started_at < timedelta(minutes=1)
    with pytest.raises(Conflict) as refused:
        directory.hold(url="")
    assert refused.value.code == "data_dir_in_use"
    for told in (str(os.getpid()), "http://127.0.0.1:8080", f"{holder.started_at:%Y-%m-%d %H:%M}"):
        assert told in str(refused.value)
    hold.release()
    hold.release()
    assert directory.holder() is None
    directory.hold(url="").release()


async def test_the_hold_ends_with_a_holder_that_is_killed(empty: DataDirectory) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", HOLD, str(empty.path)), stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"held\n"
        with pytest.raises(Conflict) as refused:
            empty.hold(url="")
        assert f"process {process.pid}" in refused.value.message
    finally:
        process.kill()
        await process.wait()
    assert (empty.path / "shoal.lock").read_bytes(), "the note outlives its writer"
    assert empty.holder() is None
    empty.hold(url="").release()
