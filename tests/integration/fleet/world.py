"""Short words for what the tests of the fleet's brain do all the time."""

from collections.abc import Sequence
from typing import Any

from redis.asyncio import Redis

from shoal.fleet.brain import FleetBrain
from shoal.fleet.model import Attempt, Completed, Completion, Moments, NodeRights, Plan

from .halves import change_grants, drop_one

RESULT = Moments(10, 5.0, 2.0, 1.0, 9.0)
SILENT_MS = 100_000


class World:
    def __init__(self, fleet: FleetBrain, client: Redis) -> None:
        self.fleet = fleet
        self.client: Any = client

    async def open(self, task: str, *, chunks: int, guilds: Sequence[str] = (), **facts: Any) -> Plan:
        """A plan whose chunks have ten iterations each."""
        given: dict[str, Any] = {
            "token": "token",
            "job": f"job-of-{task}",
            "owner": "ann",
            "audience": "public",
            "engine": "dps@1",
        }
        given |= {"iterations": chunks * 10, "size": 10} | facts
        plan = Plan(task=task, config_hash="hash", **given)
        assert await self.fleet.open_plan(plan, guilds) == "OK"
        return plan

    async def admit(self, *nodes: str, accepts: Sequence[str] = ("public",), **rights: Any) -> None:
        for node in nodes:
            answer = await self.fleet.admit_node(self.rights(node, accepts=accepts, **rights))
            assert not isinstance(answer, str), answer

    def rights(self, node: str, *, accepts: Sequence[str] = ("public",), **rights: Any) -> NodeRights:
        given = {"owner": "host", "engines": frozenset({"dps@1"}), "limit": 100, "depth": 100, **rights}
        return NodeRights(node=node, accepts=frozenset(accepts), **given)

    async def give(self, node: str, most: int = 1) -> list[str]:
        return [one.id for one in await self.fleet.assign_chunk([node], most=most)]

    async def complete(self, node: str, *ids: str, wanted: int = 0, result: Moments = RESULT) -> list[str]:
        return [one.verdict for one in await self.answers(node, *ids, wanted=wanted, result=result)]

    async def answers(
        self, node: str, *ids: str, wanted: int = 0, result: Moments | None = RESULT, where: str = ""
    ) -> list[Completed]:
        sent = [
            Completion(node=node, attempt=attempt_of(one), moments=result, where=where, wanted=wanted)
            for one in ids
        ]
        return await self.fleet.complete_chunk(sent)

    async def silence(self, node: str, silence_ms: int = SILENT_MS) -> None:
        """Let the brain believe that it heard the node for the last time so long ago."""
        heard = await self.client.hincrby(f"{{node}}:{node}:state", "last_heartbeat", -silence_ms)
        await self.client.zadd("{node}:alive", {node: heard})

    async def watch(self) -> None:
        """Let the brain believe that somebody looked for silent nodes all the time."""
        now, _ = await self.client.time()
        await self.client.hset("{node}:watch", mapping={"since": 0, "last": now * 1000})

    async def lose(self, node: str) -> None:
        await self.watch()
        await self.silence(node)
        assert node in await self.fleet.reclaim_chunks()

    async def change_grants_and_die(self, owner: str, guilds: Sequence[str]) -> None:
        await change_grants(self.client, owner, guilds)

    async def look_at_all(self, task: str) -> None:
        """From now on every chunk of the plan is in its sample."""
        await self.client.hset(f"{{job}}:{task}", "sample", "1")

    async def drop_one_chunk_and_die(self, task: str) -> None:
        await drop_one(self.client, task)

    async def keys(self) -> set[str]:
        return {key.decode() for key in await self.client.keys("*")}

    async def held(self, node: str) -> set[str]:
        return {one.id for one in await self.fleet.held_chunks(node)}


def attempt_of(wire: str) -> Attempt:
    found = Attempt.parse(wire)
    assert found is not None, wire
    return found
