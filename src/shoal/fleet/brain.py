"""The scripts of the fleet, with types: every change of a plan or a node is one of these calls.

A call may be repeated when its answer was lost: what was decided before stays decided.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, cast

from redis.asyncio import Redis

from shoal.brain.scripts import Scripts, Words, load_scripts
from shoal.fleet import rules
from shoal.fleet.model import (
    Assignment,
    Attempt,
    Completed,
    Completion,
    Full,
    Moments,
    NodeRights,
    Plan,
    Poisoned,
    Pulse,
    Verdict,
)

MOST_PER_CALL = 128
"""More at once would hold up everybody else for milliseconds."""
_CHUNKS_PER_RECLAIM = 512
_DROPPED_PER_CALL = 1000
_WORDS_PER_ASSIGNMENT = 8

_scripts = load_scripts("shoal.fleet")


class FleetBrain:
    """``scripts`` are others than the room's own in a simulation, whose clock is not the server's."""

    def __init__(self, client: Redis, *, scripts: Scripts = _scripts) -> None:
        self._client = client
        self._scripts = scripts

    # Plans

    async def open_plan(
        self, plan: Plan, guilds: Sequence[str] = ()
    ) -> Literal["OK", "EXISTS", "OTHER_TOKEN"]:
        """Let the chunks of a task be handed out. The same call rebuilds a plan that was lost."""
        facts: Words = {
            "task": plan.task,
            "token": plan.token,
            "job": plan.job,
            "owner": plan.owner,
            "engine": plan.engine,
            "audience": plan.audience,
            "config_hash": plan.config_hash,
            "iterations": plan.iterations,
            "size": plan.size,
            "reducer": plan.reducer,
            "order": plan.order,
            "most_failures": plan.most_failures,
            "seed": plan.seed,
            "sample": plan.sample,
            "tolerance": plan.tolerance,
            "guilds": guilds,
        }
        answer = await self._scripts.open_plan(self._client, args=facts)
        while answer == b"CLOSING":
            # Somebody died while dropping it.
            await self.drop_plan(plan.task, plan.token)
            answer = await self._scripts.open_plan(self._client, args=facts)
        return cast("Literal['OK', 'EXISTS', 'OTHER_TOKEN']", answer.decode())

    async def drop_plan(self, task: str, token: str = "") -> list[tuple[str, str]]:
        """Remove a plan with all that belongs to it; who held what of it. Another claim's plan stays."""
        freed: list[tuple[str, str]] = []
        left = 1
        while left:
            left, *words = await self._scripts.drop_plan(
                self._client, args={"task": task, "token": token, "most": _DROPPED_PER_CALL}
            )
            freed += _pairs(iter(words), len(words) // 2)
        return freed

    async def lock_plan(
        self, task: str, holder: str, *, ttl_ms: int = rules.LOCK_MS
    ) -> Full | Poisoned | Literal["LOCKED", "NOT_FULL", "NOT_FOUND"]:
        """Take the right to aggregate a full plan; it ends by itself, so that nobody's death keeps it."""
        word, *rest = await self._scripts.lock_plan(
            self._client, args={"task": task, "holder": holder, "ttl_ms": ttl_ms}
        )
        if word == b"POISONED":
            return Poisoned(int(rest[0]), rest[1].decode())
        if word != b"OK":
            return cast("Literal['LOCKED', 'NOT_FULL', 'NOT_FOUND']", word.decode())
        token, total, count, *numbers = rest
        return Full(token.decode(), total, Moments(int(float(count)), *(float(one) for one in numbers)))

    async def plans(self) -> list[str]:
        found: list[Any] = await self._client.zrange("{job}:plans", 0, -1)
        return [task.decode() for task in found]

    async def settled(self) -> list[str]:
        """Plans that are full or have a chunk that failed too often: somebody must end them."""
        found: set[Any] = await self._client.smembers("{job}:settled")
        return sorted(task.decode() for task in found)

    async def results(self, task: str) -> dict[int, str]:
        """Where the results of a plan lie that collects them."""
        found: dict[Any, Any] = await self._client.hgetall(f"{{job}}:{task}:results")
        return {int(index): where.decode() for index, where in found.items()}

    async def change_grants(self, owner: str, guilds: Sequence[str]) -> list[tuple[str, str]]:
        """The owner is in these guilds now; what was taken back from nodes that may no longer serve them."""
        tasks = await self._scripts.change_grants(self._client, args={"owner": owner, "guilds": guilds})
        return [lost for task in tasks for lost in await self.recheck_plan(task.decode())]

    async def drop_wrong_parts(self) -> int:
        """Open again what nodes did that were outvoted since; how many calls that took."""
        calls = 0
        found: set[Any] = await self._client.smembers("{job}:dropping")
        for task in sorted(found):
            left = 1
            while left:
                left = await self._scripts.drop_part(self._client, args={"task": task, "most": MOST_PER_CALL})
                calls += 1
        return calls

    async def rechecks(self) -> list[str]:
        """Plans whose holders nobody looked at since their grants changed: somebody died over it."""
        found: set[Any] = await self._client.smembers("{job}:recheck")
        return sorted(task.decode() for task in found)

    async def recheck_plan(self, task: str) -> list[tuple[str, str]]:
        lost: list[tuple[str, str]] = []
        cursor = -1
        while cursor:
            cursor, *words = await self._scripts.recheck_plan(
                self._client, args={"task": task, "cursor": max(cursor, 0), "count": MOST_PER_CALL}
            )
            lost += _pairs(iter(words), len(words) // 2)
        return lost

    async def spare_chunks(self, task: str, *, older_ms: int) -> int:
        return int(
            await self._scripts.spare_chunks(
                self._client, args={"task": task, "most": MOST_PER_CALL, "older_ms": older_ms}
            )
        )

    # Nodes

    async def admit_node(
        self, rights: NodeRights, *, present: bool = True
    ) -> tuple[int, list[str]] | Literal["ABSENT", "REVOKED"]:
        """Its epoch and the chunks it lost. ``present`` is whether the node itself was heard."""
        word, *rest = await self._scripts.admit_node(
            self._client,
            args={
                "node": rights.node,
                "present": int(present),
                "owner": rights.owner,
                "limit": rights.limit,
                "depth": rights.depth,
                "paused": int(rights.paused),
                "pools": " ".join(rights.pools),
            },
        )
        if word != b"OK":
            return cast("Literal['ABSENT', 'REVOKED']", word.decode())
        return rest[0], [one.decode() for one in rest[1:]]

    async def heartbeat(
        self,
        node: str,
        *,
        depth: int,
        progress: Mapping[str, float] | None = None,
        stall_ms: int = rules.STALL_MS,
        longest_ms: int = rules.LONGEST_MS,
    ) -> Pulse | None:
        """None for a node that must be admitted (again)."""
        reported = [word for pair in (progress or {}).items() for word in pair]
        word, *rest = await self._scripts.heartbeat(
            self._client,
            args={
                "node": node,
                "depth": depth,
                "stall_ms": stall_ms,
                "longest_ms": longest_ms,
                "reported": reported,
            },
        )
        if word != b"OK":
            return None
        epoch, backlog, digest, *lost = rest
        return Pulse(
            epoch=epoch, backlog=backlog, digest=digest.decode(), lost=tuple(one.decode() for one in lost)
        )

    async def held_chunks(self, node: str) -> list[Assignment]:
        return _assignments(await self._scripts.held_chunks(self._client, args={"node": node}))

    async def hand_back_chunks(
        self, node: str, ids: Sequence[str] = (), *, leaving: bool = False
    ) -> list[str]:
        """The node gives back what it will not compute: these, or all of it because it leaves for good."""
        held = await self._scripts.hand_back_chunks(
            self._client, args={"node": node, "leaving": int(leaving), "ids": ids}
        )
        return [one.decode() for one in held]

    async def fail_chunk(
        self, node: str, attempt: Attempt, *, reason: str, wanted: int = 1
    ) -> tuple[Literal["OK", "WRONG_NODE", "NOT_FOUND", "UNKNOWN_NODE"], list[Assignment]]:
        """The node could not compute the chunk. It gets nothing for a while, unless it serves its owner."""
        word, *words = await self._scripts.fail_chunk(
            self._client,
            args={
                "fresh_ms": rules.FRESH_MS,
                "node": node,
                "task": attempt.task,
                "index": attempt.index,
                "attempt": attempt.attempt,
                "reason": reason,
                "wanted": wanted,
            },
        )
        verdict = cast("Literal['OK', 'WRONG_NODE', 'NOT_FOUND', 'UNKNOWN_NODE']", word.decode())
        return verdict, _assignments(words)

    async def revoke_node(self, node: str) -> int:
        return int(await self._scripts.revoke_node(self._client, args={"node": node}))

    async def reclaim_chunks(self, *, silence_ms: int = rules.SILENCE_MS) -> dict[str, int]:
        """Forget the nodes that fell silent; how many chunks each of them held.

        Call it much more often than every half ``silence_ms``: longer without, and silence counts anew.
        """
        reclaimed: dict[str, int] = {}
        words: list[Any] = [None]
        while words:
            words = await self._scripts.reclaim_chunks(
                self._client,
                args={"silence_ms": silence_ms, "most": _CHUNKS_PER_RECLAIM, "gap_ms": silence_ms // 2},
            )
            reclaimed.update(
                (node.decode(), held) for node, held in zip(words[::2], words[1::2], strict=True)
            )
        return reclaimed

    # Chunks

    async def assign_chunk(self, nodes: Sequence[str], *, most: int = MOST_PER_CALL) -> list[Assignment]:
        """Give each node what it has room for."""
        return _assignments(
            await self._scripts.assign_chunk(
                self._client, args={"fresh_ms": rules.FRESH_MS, "most": most, "nodes": nodes}
            )
        )

    async def select_nodes(self, task: str, *, most: int = MOST_PER_CALL) -> list[Assignment]:
        """Hand out chunks to the least loaded nodes that may run the plan."""
        return _assignments(
            await self._scripts.select_nodes(
                self._client, args={"fresh_ms": rules.FRESH_MS, "most": most, "task": task}
            )
        )

    async def complete_chunk(self, completions: Sequence[Completion]) -> list[Completed]:
        """Accept up to ``MOST_PER_CALL`` results and hand out what is next, in one step."""
        words = await self._scripts.complete_chunk(
            self._client,
            args={
                "fresh_ms": rules.FRESH_MS,
                "items": [word for one in completions for word in _words(one)],
            },
        )
        answers = iter(words)
        return [_completed(answers) for _ in completions]


def _words(one: Completion) -> tuple[str | int | float, ...]:
    head = (one.node, one.attempt.task, one.attempt.index, one.attempt.attempt, one.wanted)
    if one.moments is None:
        return (*head, one.where, "", "", "", "")
    moments = one.moments
    return (*head, moments.count, moments.mean, moments.m2, moments.least, moments.most)


def _completed(words: Iterator[Any]) -> Completed:
    verdict, completed, total, aggregate, freed = (next(words) for _ in range(5))
    return Completed(
        verdict=cast("Verdict", verdict.decode()),
        completed=completed,
        total=total,
        aggregate=aggregate == b"AGGREGATE",
        freed=tuple(_pairs(words, freed)),
        next=tuple(_assignment(words) for _ in range(next(words))),
    )


def _pairs(words: Iterator[Any], count: int) -> list[tuple[str, str]]:
    return [(next(words).decode(), next(words).decode()) for _ in range(count)]


def _assignments(words: Sequence[Any]) -> list[Assignment]:
    rest = iter(words)
    return [_assignment(rest) for _ in range(len(words) // _WORDS_PER_ASSIGNMENT)]


def _assignment(words: Iterator[Any]) -> Assignment:
    node, wire, job, iterations, config_hash, offset, engine, seed = (
        next(words) for _ in range(_WORDS_PER_ASSIGNMENT)
    )
    return Assignment(
        node=node.decode(),
        id=wire.decode(),
        job=job.decode(),
        iterations=iterations,
        config_hash=config_hash.decode(),
        seed_offset=offset,
        engine=engine.decode(),
        seed=int(seed),
    )
