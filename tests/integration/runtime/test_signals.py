"""A whole process under signals: an orderly end, its limit, and an end at once."""

import asyncio
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest

DEADLINE_S = 30
GRACE_S = 20

# Its parts tell on stdout what happens; `slow` does not end before the grace period does.
PROGRAM = """
import asyncio, sys
from shoal.runtime.lifecycle import Part, run_parts
from shoal.runtime.logs import LogSettings, configure_logs

class Told(Part):
    def __init__(self, name):
        self.name, self.ending = name, asyncio.Event()
    async def start(self):
        print(self.name, "starts", flush=True)
    async def run(self):
        if self.name == "failing":
            raise LookupError("no such luck")
        await self.ending.wait()
        print(self.name, "ends", flush=True)
    async def stop(self):
        print(self.name, "is stopped", flush=True)
        if self.name != "slow":
            self.ending.set()

configure_logs(LogSettings(log_format="json"))
parts, grace_s = sys.argv[2:], float(sys.argv[1])
asyncio.run(run_parts([Told(name) for name in parts], grace_s=grace_s,
                      on_started=lambda: print("started", flush=True)))
"""

Start = Callable[..., Coroutine[Any, Any, asyncio.subprocess.Process]]


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    processes = []

    async def start(*parts: str, grace_s: float = GRACE_S) -> asyncio.subprocess.Process:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", PROGRAM, str(grace_s), *parts),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        processes.append(process)
        return process

    yield start
    for process in processes:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def until(process: asyncio.subprocess.Process, line: str) -> None:
    assert process.stdout is not None
    async with asyncio.timeout(DEADLINE_S):
        while (await process.stdout.readline()).decode().strip() != line:
            assert not process.stdout.at_eof(), f"it ended before it said {line!r}"


async def the_rest(process: asyncio.subprocess.Process) -> tuple[list[str], str]:
    async with asyncio.timeout(DEADLINE_S):
        output, errors = await process.communicate()
    return output.decode().splitlines(), errors.decode()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_the_first_signal_ends_it_in_order_and_well(start: Start, number: signal.Signals) -> None:
    process = await start("a", "b")
    await until(process, "started")
    process.send_signal(number)

    output, errors = await the_rest(process)

    assert output == ["b is stopped", "b ends", "a is stopped", "a ends"]
    assert process.returncode == 0
    assert f'"signal":"{number.name}"' in errors


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
async def test_a_second_signal_ends_it_at_once(start: Start, second: signal.Signals) -> None:
    process = await start("a", "slow")
    await until(process, "started")
    process.send_signal(signal.SIGTERM)
    await until(process, "slow is stopped")
    before = time.monotonic()
    process.send_signal(second)

    output, _ = await the_rest(process)

    assert output == []
    assert process.returncode == 130
    assert time.monotonic() - before < GRACE_S / 2


async def test_what_is_slow_holds_it_up_no_longer_than_the_grace_period(start: Start) -> None:
    process = await start("a", "slow", grace_s=0.1)
    await until(process, "started")
    process.send_signal(signal.SIGTERM)

    output, errors = await the_rest(process)

    assert output == ["slow is stopped", "a is stopped", "a ends"]
    assert process.returncode == 0
    assert "did not end within the grace period" in errors
    assert '"part":"slow"' in errors


async def test_a_part_that_fails_ends_it_with_that_error(start: Start) -> None:
    process = await start("a", "failing")

    output, errors = await the_rest(process)

    assert output[-3:] == ["failing is stopped", "a is stopped", "a ends"]
    assert process.returncode == 1
    assert "LookupError: no such luck" in errors
