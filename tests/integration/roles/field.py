"""Worker processes in the field: on a ledger of their own, with a folder as the vault."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from uuid import UUID

from tests.integration.jobs.ledger_client import LedgerClient, PlannedJob, graph
from tests.scenarios.processes import Launched

APPS = "tests.integration.roles.apps"
DEADLINE_S = 40.0
LOOK_EVERY_S = 0.02


class Field:
    def __init__(self, ledger: LedgerClient, *, database_url: str, folder: Path) -> None:
        self.ledger = ledger
        self.folder = folder
        self.environment = {
            "SHOAL_DATABASE_URL": database_url,
            "SHOAL_VAULT_URL": folder.joinpath("vault").as_uri(),
            "SHOAL_VAULT_LINK_SECRET": "a secret for links, and long enough",
            "SHOAL_VAULT_LINK_URL": "http://127.0.0.1:1",
            "SHOAL_LOG_FORMAT": "json",
        }
        self.launched: list[Launched] = []

    def command(self, *arguments: str, **settings: object) -> Launched:
        """``shoal worker …``, not started yet."""
        given = {f"SHOAL_{name.upper()}": str(value) for name, value in settings.items()}
        command = Launched(
            ["worker", *arguments, "--data-dir", str(self.folder / "data")],
            log_file=self.folder / f"{len(self.launched)}.log",
            environment={**self.environment, **given},
            ready=b"ready",
        )
        self.launched.append(command)
        return command

    async def worker(self, *arguments: str, app: str = "one", **settings: object) -> Launched:
        """A worker process that is ready."""
        worker = self.command("run", f"{APPS}:{app}", *arguments, **settings)
        await worker.start()
        return worker

    async def job(self, *task_types: str) -> PlannedJob:
        """A job of independent tasks, called ``0``, ``1`` and so on. A patient one waits for ``let_go``."""
        given = {"folder": str(self.folder)}
        tasks = [
            {"name": str(number), "task_type": task_type, "input": given, "needs": []}
            for number, task_type in enumerate(task_types)
        ]
        return await self.ledger.start(graph(*tasks))

    def let_go(self) -> None:
        (self.folder / "go").touch()

    def starts(self) -> dict[str, int]:
        """The process that ran each patient task, by the task's name and attempt."""
        return {
            file.name: int(text) for file in self.folder.glob("[0-9]*.[0-9]") if (text := file.read_text())
        }

    async def status(self, job: UUID) -> str:
        return str((await self.ledger.job(job))["status"])

    async def ended(self, job: UUID) -> str:
        """How the job ended."""
        await until(lambda: self._has_ended(job))
        return await self.status(job)

    async def _has_ended(self, job: UUID) -> bool:
        return await self.status(job) in {"complete", "failed", "cancelled"}


async def until(holds: Callable[[], Awaitable[Any]], *, within_s: float = DEADLINE_S) -> Any:
    """Look until it holds; returns what it said."""
    async with asyncio.timeout(within_s):
        while not (said := await holds()):  # noqa: ASYNC110 - nothing tells us
            await asyncio.sleep(LOOK_EVERY_S)
        return said


async def so(holds: Callable[[], Any], *, within_s: float = DEADLINE_S) -> Any:
    """The same for what can be asked without waiting."""

    async def look() -> Any:
        return holds()

    return await until(look, within_s=within_s)
