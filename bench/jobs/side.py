"""One side of the comparison: its settings, its database, and the processes of its program."""

import asyncio
import json
import os
import tomllib
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg

from bench.harness.database import moment_when_done

HERE = Path(__file__).parent
US = "shoal"
ANSWER_S = 120.0
END_S = 10.0
LONGEST_LINE = 2**20

Settings = dict[str, Any]


@dataclass(frozen=True)
class Known:
    """What was measured for a peer before: tasks/s, tasks/s, milliseconds."""

    drain: float
    enqueue: float
    pickup: float


@dataclass(frozen=True)
class Sheet:
    """What ``sides.toml`` says of a side."""

    name: str
    left: str
    empty: str
    weight: float
    drain: Settings
    pickup: Settings
    enqueue: Settings
    known: Known | None


def read_sheets() -> tuple[float, dict[str, Sheet]]:
    """The reference that the known figures belong to, and the sheet of each side."""
    said = tomllib.loads((HERE / "sides.toml").read_text(encoding="utf-8"))
    reference = float(said.pop("known_reference"))
    return reference, {
        name: Sheet(
            name=name,
            **{key: value for key, value in sheet.items() if key != "known"},
            known=Known(**sheet["known"]) if "known" in sheet else None,
        )
        for name, sheet in said.items()
    }


class SideProcess:
    """A running program of a side; ``sides/protocol.py`` has what it understands."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._answers: asyncio.Queue[Settings | None] = asyncio.Queue()
        self._reading = asyncio.create_task(self._read())
        self.began: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        """When the first task started since it was told to work."""

    @classmethod
    async def launch(cls, name: str, home: str, url: str) -> "SideProcess":
        """``home`` is the Python of the side's environment, or the folder of its node packages."""
        if (program := HERE / "sides" / f"{name}.cjs").exists():
            command, environment = ["node", str(program)], {"NODE_PATH": home}
        else:
            command, environment = [home, "-m", f"bench.jobs.sides.{name}"], {}
        process = await asyncio.create_subprocess_exec(
            *command,
            url,
            stdin=PIPE,
            stdout=PIPE,
            limit=LONGEST_LINE,
            cwd=HERE.parent.parent,
            env={**os.environ, **environment},
        )
        return cls(process)

    async def order(self, do: str, **more: Any) -> Settings:
        assert self._process.stdin is not None
        if do == "work":
            self.began = asyncio.get_running_loop().create_future()
        self._process.stdin.write(json.dumps({"do": do, **more}).encode() + b"\n")
        async with asyncio.timeout(ANSWER_S):
            answer = await self._answers.get()
        if answer is None:
            raise RuntimeError("a side ended; what it printed above says why")
        return answer

    async def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            async with asyncio.timeout(END_S):
                await self._process.wait()
        except TimeoutError:
            self._process.kill()
        await self._reading

    async def _read(self) -> None:
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            answer = json.loads(line)
            if "began" in answer:
                self.began.set_result(answer["began"])
            else:
                self._answers.put_nowait(answer)
        self._answers.put_nowait(None)


@dataclass(frozen=True)
class Drained:
    """Tasks in a second."""

    enqueue: float
    drain: float


class Side:
    """Installed on a database of its own, with as many processes as a drain can have."""

    def __init__(
        self, sheet: Sheet, processes: Sequence[SideProcess], connection: "asyncpg.Connection[Any]"
    ) -> None:
        self.sheet = sheet
        self._processes = processes
        self.connection = connection

    @classmethod
    async def open(
        cls, sheet: Sheet, home: str, url: str, *, processes: int, stack: AsyncExitStack
    ) -> "Side":
        """``stack`` ends what is opened here."""
        connection = await asyncpg.connect(url)
        stack.push_async_callback(connection.close)
        running = []
        for _ in range(processes):
            running.append(await SideProcess.launch(sheet.name, home, url))
            stack.push_async_callback(running[-1].end)
        await running[0].order("install")
        return cls(sheet, running, connection)

    async def drain(self, count: int, processes: int, enqueue: Settings | None = None) -> Drained:
        """Enqueue so many tasks into an emptied queue, then run them all."""
        await self.connection.execute(self.sheet.empty)
        enqueued = await self._processes[0].order(
            "enqueue", count=count, **{"with": enqueue or self.sheet.enqueue}
        )
        await self.connection.execute("VACUUM ANALYZE")
        await self.connection.execute("CHECKPOINT")
        working = self._processes[:processes]
        await asyncio.gather(*(one.order("work", **{"with": self.sheet.drain}) for one in working))
        async with asyncio.timeout(ANSWER_S):
            await asyncio.wait([one.began for one in working], return_when=asyncio.FIRST_COMPLETED)
        began = min(one.began.result() for one in working if one.began.done())
        ended = await moment_when_done(self.connection, self.sheet.left)
        for one in working:
            await one.order("rest")
        return Drained(count / enqueued["seconds"], count / (ended - began))

    async def pickup(self, count: int) -> list[float]:
        """Milliseconds, one task after the other."""
        answer = await self._processes[0].order("pickup", count=count, **{"with": self.sheet.pickup})
        latencies: list[float] = answer["ms"]
        return latencies
