"""Everything at once, from six connections, on graphs with edges: no deadlock, and everything ends right."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from uuid import UUID

import asyncpg

from shoal.runtime.refusals import KINDS
from shoal.worker.held import Claim

from .conftest import OpenClient
from .invariants import ALWAYS, AT_THE_END, broken
from .ledger_client import Graph, LedgerClient, graph, task

CONNECTIONS = 6
SECONDS = 4.0
MOST_JOBS = 12
# A circle of waits is found at once, and not only when it happens to last for a second.
IMPATIENT = "SET deadlock_timeout = '20ms'"


def random_graph(chance: random.Random) -> Graph:
    names: list[str] = []
    tasks = []
    for number in range(chance.randint(2, 12)):
        needs = chance.sample(names, min(len(names), chance.choice((0, 1, 1, 2, 3))))
        on_failure = chance.choice(("fail", "skip", "ignore"))
        tasks.append(task(f"t{number}", *needs, on_failure=on_failure, max_attempts=chance.randint(1, 5)))
        names.append(f"t{number}")
    return graph(*tasks)


class Hooligan:
    """One connection that does whatever comes to its mind, also with claims it has lost."""

    def __init__(self, client: LedgerClient, jobs: list[UUID], seed: int) -> None:
        self.client = client
        self.jobs = jobs
        self.chance = random.Random(seed)  # noqa: S311 - chosen by a seed, to be repeated
        self.claims: list[Claim] = []
        self.done: Counter[str] = Counter()
        self.acts: dict[str, tuple[int, Callable[[], Awaitable[object]]]] = {
            "start": (2, self.start),
            "plan": (4, self.plan),
            "claim": (8, self.claim),
            "complete": (10, lambda: client.complete(*self.some())),
            "fail": (3, lambda: client.fail(*self.some(), retry_after_s=0)),
            "give up": (2, lambda: client.fail(*self.some(), permanent=True)),
            "release": (2, lambda: client.release(*self.some())),
            "heartbeat": (6, lambda: client.heartbeat(*self.some(), progress=0.5)),
            "log": (4, lambda: client.add_logs([(claim, "line") for claim in self.some()])),
            "artifact": (2, self.add_artifact),
            "silence": (2, self.fall_silent),
            "reclaim": (2, client.reclaim),
            "cancel a job": (1, lambda: client.cancel_job(self.chance.choice(self.jobs))),
            "cancel a task": (2, lambda: self.on_some_task(client.cancel_task)),
            "retry a job": (2, lambda: client.retry_job(self.chance.choice(self.jobs))),
            "retry a task": (2, lambda: self.on_some_task(client.retry_task)),
        }

    async def riot(self, until: float) -> None:
        names = list(self.acts)
        weights = [weight for weight, _ in self.acts.values()]
        while time.monotonic() < until:
            (name,) = self.chance.choices(names, weights)
            try:
                await self.acts[name][1]()
            except asyncpg.PostgresError as error:
                if error.sqlstate not in KINDS:  # a refusal of ours is fine, nothing else is
                    raise
            else:
                self.done[name] += 1

    def some(self) -> list[Claim]:
        """Up to six claims in no order; some of them stay in mind although they are lost then."""
        chosen = self.chance.sample(self.claims, min(len(self.claims), self.chance.randint(0, 6)))
        if self.chance.random() < 0.7:
            self.claims = [claim for claim in self.claims if claim not in chosen]
        return chosen

    async def start(self) -> None:
        open_jobs = await self.client.connection.fetchval(
            "SELECT count(*) FROM jobs WHERE finished_at IS NULL"
        )
        if open_jobs < MOST_JOBS:
            self.jobs.append(await self.client.create())

    async def plan(self) -> None:
        for claim in await self.client.claim(1, types=["plan:graph"]):
            await self.client.plan(claim, random_graph(self.chance))

    async def claim(self) -> None:
        self.claims += await self.client.claim(self.chance.randint(1, 8))

    async def add_artifact(self) -> None:
        for claim in self.some():
            await self.client.add_artifact(claim, f"{self.chance.random()}.txt")

    async def fall_silent(self) -> None:
        for claim in self.some():
            await self.client.let_leases_run_out(claim)

    async def on_some_task(self, act: Callable[[UUID], Awaitable[object]]) -> None:
        tasks = await self.client.tasks(self.chance.choice(self.jobs))
        await act(self.chance.choice(tasks)["id"])


async def finish_everything(client: LedgerClient) -> None:
    await client.let_leases_run_out()
    await client.reclaim()
    while True:
        await client.let_delays_pass()
        plans = await client.claim(100, types=["plan:graph"])
        for claim in plans:
            await client.plan(claim, graph())
        claims = await client.claim(100)
        await client.complete(*claims)
        if not plans and not claims:
            return


async def test_nothing_waits_in_a_circle_and_every_job_ends(
    ann: LedgerClient, open_client: OpenClient
) -> None:
    """Trap 4.15: cancel locks job → tasks while completion locks tasks → job."""
    await ann.register()
    jobs = [await ann.create() for _ in range(3)]
    hooligans = [Hooligan(await open_client(f"hooligan-{seed}"), jobs, seed) for seed in range(CONNECTIONS)]
    for hooligan in hooligans:
        await hooligan.client.connection.execute(IMPATIENT)

    until = time.monotonic() + SECONDS
    async with asyncio.TaskGroup() as group:
        for hooligan in hooligans:
            group.create_task(hooligan.riot(until))
    done = sum((hooligan.done for hooligan in hooligans), Counter())

    assert await broken(ann.connection) == []
    await finish_everything(ann)
    assert await broken(ann.connection, ALWAYS, AT_THE_END) == []
    never = set(hooligans[0].acts) - set(done)
    assert not never, f"never worked: {never} of {done}"
