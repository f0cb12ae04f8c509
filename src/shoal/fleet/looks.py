"""Looks at the brain that change nothing. Each is of one moment, and old the moment after."""

from collections.abc import Sequence
from typing import Any

from redis.asyncio import Redis

from shoal.fleet import rules


class FleetLooks:
    def __init__(self, client: Redis) -> None:
        self._client: Any = client

    async def tokens(self) -> dict[str, str]:
        """Under which claim each plan was opened."""
        plans = await self._client.zrange("{job}:plans", 0, -1)
        tokens = await self._of_each(plans, "token")
        return {task.decode(): token[0].decode() for task, token in tokens.items() if token[0]}

    async def progress(self) -> dict[str, tuple[str, int, int]]:
        """Of each plan its token, how many chunks are done, and how many there are."""
        plans = await self._client.zrange("{job}:plans", 0, -1)
        found = await self._of_each(plans, "token", "completed", "total")
        return {
            task.decode(): (token.decode(), int(completed), int(total))
            for task, (token, completed, total) in found.items()
            if token
        }

    async def owners_with_plans(self) -> list[str]:
        plans = await self._client.zrange("{job}:plans", 0, -1)
        found = await self._of_each(plans, "owner")
        return sorted({owner[0].decode() for owner in found.values() if owner[0]})

    async def heard(self, *, within_ms: int = rules.SILENCE_MS) -> dict[str, int]:
        """The nodes that were heard lately, and when: in milliseconds since 1970."""
        seconds, micros = await self._client.time()
        oldest = seconds * 1000 + micros // 1000 - within_ms
        found = await self._client.zrange("{node}:alive", oldest, "+inf", byscore=True, withscores=True)
        return {node.decode(): int(at) for node, at in found}

    async def quiet(self, *, than_ms: int, most: int) -> list[str]:
        """Nodes that were not heard for this long, the quietest first."""
        seconds, micros = await self._client.time()
        latest = seconds * 1000 + micros // 1000 - than_ms
        found = await self._client.zrange("{node}:alive", "-inf", latest, byscore=True, offset=0, num=most)
        return [node.decode() for node in found]

    async def count_nodes(self) -> int:
        return int(await self._client.zcard("{node}:alive"))

    async def oldest_heartbeat_s(self) -> float:
        """How long ago the node was heard that was silent for longest; 0 when there is none."""
        found = await self._client.zrange("{node}:alive", 0, 0, withscores=True)
        seconds, micros = await self._client.time()
        return max(0.0, seconds + micros / 1e6 - found[0][1] / 1000) if found else 0.0

    async def backlogs(self, nodes: Sequence[str]) -> dict[str, int]:
        """How many chunks each of them holds; a node that is not there holds none."""
        if not nodes:
            return {}
        found = await self._client.zmscore("{node}:backlog:sorted", nodes)
        return {node: int(held or 0) for node, held in zip(nodes, found, strict=True)}

    async def revoked(self, nodes: Sequence[str]) -> list[bool]:
        return [bool(one) for one in await self._client.smismember("{node}:revoked", nodes)]

    async def _of_each(self, plans: Sequence[bytes], *fields: str) -> dict[bytes, list[Any]]:
        if not plans:
            return {}
        async with self._client.pipeline(transaction=False) as pipeline:
            for task in plans:
                pipeline.hmget(b"{job}:" + task, fields)
            return dict(zip(plans, await pipeline.execute(), strict=True))
