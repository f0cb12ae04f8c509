"""What the brain of the fleet must do, in plain Python: small enough to be seen to be right.

Nothing is counted that can be looked at: a backlog is the length of what a node holds, an owner's share is
what is held of their plans, a plan waits when it has work.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec

from shoal.fleet.model import Attempt, Moments, NodeRights, Plan
from shoal.fleet.rules import Fold

MOST_VOTES = 5
RECOMPUTED = 500


@dataclass
class Chunk:
    """A held chunk: how many attempts there were, and who holds which."""

    attempts: int
    holders: list[tuple[int, str]]

    def held_by(self, node: str) -> bool:
        return any(holder == node for _, holder in self.holders)


@dataclass(frozen=True)
class Vote:
    owner: str
    node: str
    moments: Moments

    def agrees_with(self, other: "Vote", tolerance: float) -> bool:
        pairs = zip(
            msgspec.structs.astuple(self.moments), msgspec.structs.astuple(other.moments), strict=True
        )
        return all(abs(one - two) <= tolerance * max(abs(one), abs(two)) for one, two in pairs)


@dataclass
class Part:
    """What one node did for a plan whose results are verified."""

    fold: Fold = field(default_factory=Fold)
    chunks: set[int] = field(default_factory=set)


@dataclass
class ModelPlan:
    plan: Plan
    cursor: int = 0
    done: set[int] = field(default_factory=set)
    retry: dict[int, int] = field(default_factory=dict)
    spare: dict[int, int] = field(default_factory=dict)
    held: dict[int, Chunk] = field(default_factory=dict)
    failures: dict[int, int] = field(default_factory=dict)
    reason: str = ""
    votes: dict[int, list[Vote]] = field(default_factory=dict)
    parts: dict[str, Part] = field(default_factory=dict)
    wrong: set[str] = field(default_factory=set)
    dropping: set[str] = field(default_factory=set)
    """Who was outvoted, and whose chunks are not open again yet."""
    fold: Fold = field(default_factory=Fold)
    poisoned: int | None = None
    closing: bool = False
    """Somebody began to drop it, and died."""

    @property
    def open(self) -> bool:
        return self.poisoned is None and not self.closing

    @property
    def full(self) -> bool:
        return len(self.done) == self.plan.total and not self.dropping

    @property
    def moments(self) -> Moments:
        whole = Fold()
        if not self.plan.sample:
            whole = self.fold
        for node in sorted(self.parts):
            if self.parts[node].fold.count:
                whole.add(self.parts[node].fold.moments)
        return whole.moments

    def is_sampled(self, index: int) -> bool:
        word = hashlib.sha1(f"{self.plan.token} {index}".encode(), usedforsecurity=False).hexdigest()[:8]
        return int(word, 16) / 2**32 < self.plan.sample

    def has_voted(self, owner: str, index: int) -> bool:
        return self.has_voted_of(owner, self.votes.get(index, ()))

    @staticmethod
    def has_voted_of(owner: str, votes: "Iterable[Vote]") -> bool:
        return any(vote.owner == owner for vote in votes)

    @property
    def waits(self) -> bool:
        """Whether it has work to hand out."""
        return self.open and bool(self.cursor < self.plan.total or self.retry or self.spare)


@dataclass
class ModelNode:
    rights: NodeRights
    depth: int
    fresh: bool = True
    silent: bool = False
    rests: bool = False
    chunks: set[Attempt] = field(default_factory=set)

    @property
    def room(self) -> int:
        if self.rights.paused or self.rests:
            return 0
        return max(0, min(self.rights.limit, self.depth) - len(self.chunks))


@dataclass
class Model:
    plans: dict[str, ModelPlan] = field(default_factory=dict)
    nodes: dict[str, ModelNode] = field(default_factory=dict)
    guilds: dict[str, set[str]] = field(default_factory=dict)
    revoked: set[str] = field(default_factory=set)
    rechecks: set[str] = field(default_factory=set)
    """Plans whose held chunks nobody looked at since the grants changed."""

    # Who may serve whom

    def pools(self, plan: Plan) -> set[str]:
        grants = {f"owner:{plan.owner}"}
        if plan.audience != "own":
            grants |= {f"user:{plan.owner}"} | {f"discord:{one}" for one in self.guilds.get(plan.owner, ())}
        if plan.audience == "public":
            grants.add("public")
        return {f"{grant}|{plan.engine}" for grant in grants}

    def may_serve(self, node: ModelNode, plan: Plan) -> bool:
        return bool(self.pools(plan) & set(node.rights.pools))

    # Plans

    def open(self, plan: Plan, guilds: set[str]) -> str:
        known = self.plans.get(plan.task)
        if known and known.plan.token != plan.token:
            return "OTHER_TOKEN"
        if known and not known.closing:
            return "EXISTS"
        if known:
            self.drop(plan.task, plan.token)
        if not any(one.plan.owner == plan.owner for one in self.plans.values()):
            self.guilds[plan.owner] = set(guilds)
        self.plans[plan.task] = ModelPlan(plan)
        return "OK"

    def drop(self, task: str, token: str) -> set[tuple[str, str]]:
        plan = self.plans.get(task)
        if plan is None or token not in ("", plan.plan.token):
            return set()
        freed = {
            (node, str(Attempt(task, index, attempt)))
            for index, chunk in plan.held.items()
            for attempt, node in chunk.holders
        }
        for node in self.nodes.values():
            node.chunks = {one for one in node.chunks if one.task != task}
        del self.plans[task]
        self.rechecks.discard(task)
        if not any(one.plan.owner == plan.plan.owner for one in self.plans.values()):
            del self.guilds[plan.plan.owner]
        return freed

    def begin_to_drop(self, task: str, gone: list[tuple[str, str]]) -> None:
        """It is closed, and what these held of it went."""
        plan = self.plans[task]
        plan.closing = True
        for node_id, wire in gone:
            one = Attempt.parse(wire)
            assert one is not None
            plan.held.pop(one.index, None)
            self.nodes[node_id].chunks.remove(one)

    def change_grants(self, owner: str, guilds: set[str]) -> None:
        if owner in self.guilds:
            self.guilds[owner] = set(guilds)
            self.rechecks |= {task for task, one in self.plans.items() if one.plan.owner == owner}

    def rechecks_of(self, owner: str) -> set[str]:
        return {task for task in self.rechecks if self.plans[task].plan.owner == owner}

    def recheck(self, task: str) -> set[tuple[str, str]]:
        self.rechecks.discard(task)
        plan = self.plans.get(task)
        lost = [
            (node.rights.node, one)
            for node in self.nodes.values()
            for one in node.chunks
            if plan and one.task == task and not self.may_serve(node, plan.plan)
        ]
        for node_id, one in lost:
            self._take_back(one, node_id)
        return {(node_id, str(one)) for node_id, one in lost}

    def spare_chunks(self, task: str, most: int) -> int:
        plan = self.plans[task]
        if not plan.open or plan.cursor < plan.plan.total or plan.retry or len(plan.held) > most:
            return 0
        for index, chunk in plan.held.items():
            if len(chunk.holders) == 1:
                plan.spare[index] = chunk.attempts
        return len(plan.spare)

    # Nodes

    def admit(self, rights: NodeRights, present: bool) -> str | set[str]:
        if rights.node in self.revoked:
            return "REVOKED"
        node = self.nodes.get(rights.node)
        if node is None:
            if not present:
                return "ABSENT"
            node = self.nodes[rights.node] = ModelNode(rights, rights.depth)
        node.rights = rights
        if present:
            node.fresh, node.silent = True, False
        return {str(one) for one in self._lose_what_it_may_not(node)}

    def heartbeat(self, node_id: str, depth: int, stalled: set[Attempt]) -> set[str] | None:
        node = self.nodes.get(node_id)
        if node is None:
            return None
        node.fresh, node.silent, node.depth = True, False, depth
        lost = node.chunks & stalled
        for one in lost:
            self._take_back(one, node_id, failed=True)
        return {str(one) for one in lost}

    def hand_back(self, node_id: str, ids: list[Attempt], leaving: bool) -> set[str]:
        node = self.nodes.get(node_id)
        if node is None:
            return set()
        held = set(node.chunks) if leaving else node.chunks & set(ids)
        if leaving:
            self._forget(node_id)
        else:
            for one in held:
                self._take_back(one, node_id)
        return {str(one) for one in held}

    def fail(self, node_id: str, one: Attempt, reason: str) -> str:
        node, plan = self.nodes.get(node_id), self.plans.get(one.task)
        if node is None:
            return "UNKNOWN_NODE"
        if plan is None:
            return "NOT_FOUND"
        if one not in node.chunks:
            return "WRONG_NODE"
        plan.reason = reason
        self._take_back(one, node_id, failed=True)
        node.rests |= node.rights.owner != plan.plan.owner
        return "OK"

    def revoke(self, node_id: str) -> int:
        self.revoked.add(node_id)
        return self._forget(node_id) if node_id in self.nodes else 0

    def reclaim(self) -> dict[str, int]:
        silent = [one for one, node in self.nodes.items() if node.silent]
        return {one: self._forget(one, failed=True) for one in silent}

    def _forget(self, node_id: str, *, failed: bool = False) -> int:
        chunks = set(self.nodes[node_id].chunks)
        for one in chunks:
            self._take_back(one, node_id, failed=failed)
        del self.nodes[node_id]
        return len(chunks)

    def _lose_what_it_may_not(self, node: ModelNode) -> set[Attempt]:
        lost = {one for one in node.chunks if not self.may_serve(node, self.plans[one.task].plan)}
        for one in lost:
            self._take_back(one, node.rights.node)
        return lost

    # Chunks

    def running(self, owner: str) -> int:
        return sum(
            len(chunk.holders)
            for plan in self.plans.values()
            if plan.plan.owner == owner
            for chunk in plan.held.values()
        )

    def fill(self, node_id: str, most: int) -> list[str]:
        """What a node gets: the owner with the least held first, of one owner the older plan."""
        node = self.nodes.get(node_id)
        given: list[str] = []
        while node and node.fresh and node.room and len(given) < most and (one := self._next(node)):
            given.append(str(one))
        return given

    def select(self, task: str, most: int) -> list[tuple[str, str]]:
        """What goes to the least loaded nodes while the plan waits."""
        given: list[tuple[str, str]] = []
        passed: set[str] = set()
        while len(given) < most and (plan := self.plans.get(task)) and plan.waits:
            able = [
                (len(node.chunks), node_id)
                for node_id, node in self.nodes.items()
                if node_id not in passed and node.fresh and node.room and self.may_serve(node, plan.plan)
            ]
            if not able:
                break
            node_id = min(able)[1]
            if one := self._next(self.nodes[node_id]):
                given.append((node_id, str(one)))
            else:
                passed.add(node_id)
        return given

    def complete(self, node_id: str, one: Attempt, part: Moments) -> tuple[str, set[tuple[str, str]]]:
        """The verdict, and who else held the chunk."""
        plan = self.plans.get(one.task)
        if node_id not in self.nodes:
            return "UNKNOWN_NODE", set()
        if plan is None or not plan.open or one.index >= plan.plan.total:
            return "NOT_FOUND", set()
        chunk = plan.held.get(one.index)
        if chunk is None or (one.attempt, node_id) not in chunk.holders:
            return ("ALREADY_COMPLETED" if one.index in plan.done else "WRONG_NODE"), set()
        self.nodes[node_id].rests = False
        against: list[str] = []
        freed: set[tuple[str, str]] = set()
        if plan.plan.sample:
            decided = self._vote(plan, one, node_id, part)
            if decided is None:
                return "OK", freed
            chosen, against = decided
            credited = plan.parts.setdefault(chosen.node, Part())
            credited.fold.add(chosen.moments)
            credited.chunks.add(one.index)
        else:
            plan.fold.add(part)
        plan.done.add(one.index)
        for attempt, holder in chunk.holders:
            held = Attempt(one.task, one.index, attempt)
            self.nodes[holder].chunks.remove(held)
            if holder != node_id:
                freed.add((holder, str(held)))
        del plan.held[one.index]
        plan.spare.pop(one.index, None)
        plan.failures.pop(one.index, None)
        for wrong in against:
            freed |= self._outvote(plan, wrong)
        return "OK", freed

    def _vote(
        self, plan: ModelPlan, one: Attempt, node_id: str, part: Moments
    ) -> tuple[Vote, list[str]] | None:
        """What counts, and who said something else; None while two owners do not agree."""
        mine = Vote(self.nodes[node_id].rights.owner, node_id, part)
        if not plan.is_sampled(one.index):
            return mine, []
        tolerance = plan.plan.tolerance
        votes = [vote for vote in plan.votes.get(one.index, []) if vote.node not in plan.wrong]
        for vote in votes:
            if vote.owner != mine.owner and vote.agrees_with(mine, tolerance):
                plan.votes.pop(one.index, None)
                return vote, [other.node for other in votes if not other.agrees_with(vote, tolerance)]
        chunk = plan.held[one.index]
        chunk.holders.remove((one.attempt, node_id))
        self.nodes[node_id].chunks.remove(one)
        if not plan.has_voted_of(mine.owner, votes):
            plan.votes[one.index] = [mine, *votes]
            if len(plan.votes[one.index]) >= MOST_VOTES:
                plan.poisoned = one.index
                plan.reason = "Nodes of different owners do not agree on its result."
                plan.spare.clear()
        if not chunk.holders and plan.open:
            plan.spare[one.index] = chunk.attempts
        return None

    def _outvote(self, plan: ModelPlan, node_id: str) -> set[tuple[str, str]]:
        plan.wrong.add(node_id)
        if node_id in plan.parts:
            plan.parts[node_id].fold = Fold()
            plan.dropping.add(node_id)
        node = self.nodes.get(node_id)
        lost = {one for one in node.chunks if one.task == plan.plan.task} if node else set()
        for one in lost:
            self._take_back(one, node_id)
        return {(node_id, str(one)) for one in lost}

    def drop_wrong_parts(self) -> None:
        for plan in self.plans.values():
            for node_id in plan.dropping:
                for index in plan.parts.pop(node_id).chunks:
                    plan.done.remove(index)
                    plan.retry[index] = RECOMPUTED
            plan.dropping.clear()

    def _next(self, node: ModelNode) -> Attempt | None:
        able = [one for one in self.plans.values() if one.waits and self.may_serve(node, one.plan)]
        able.sort(key=lambda one: (self.running(one.plan.owner), one.plan.order, one.plan.task))
        for plan in able:
            if taken := self._take(plan, node.rights.node):
                index, chunk = taken
                chunk.attempts += 1
                chunk.holders.append((chunk.attempts, node.rights.node))
                plan.held[index] = chunk
                attempt = Attempt(plan.plan.task, index, chunk.attempts)
                node.chunks.add(attempt)
                return attempt
        return None

    def _take(self, plan: ModelPlan, node_id: str) -> tuple[int, Chunk] | None:
        if node_id in plan.wrong:
            return None
        if plan.retry:
            index = min(plan.retry, key=lambda one: (plan.retry[one], str(one)))
            return index, Chunk(plan.retry.pop(index), [])
        if plan.cursor < plan.plan.total:
            plan.cursor += 1
            return plan.cursor - 1, Chunk(0, [])
        for index in sorted(plan.spare, key=lambda one: (plan.spare[one], str(one))):
            owner = self.nodes[node_id].rights.owner
            if not plan.held[index].held_by(node_id) and not plan.has_voted(owner, index):
                del plan.spare[index]
                return index, plan.held[index]
        return None

    def _take_back(self, one: Attempt, node_id: str, *, failed: bool = False) -> None:
        plan = self.plans[one.task]
        if failed:
            plan.failures[one.index] = plan.failures.get(one.index, 0) + 1
        chunk = plan.held[one.index]
        chunk.holders.remove((one.attempt, node_id))
        self.nodes[node_id].chunks.remove(one)
        if chunk.holders:
            return
        if one.index in plan.votes:
            plan.spare[one.index] = chunk.attempts
        else:
            del plan.held[one.index]
            plan.spare.pop(one.index, None)
            plan.retry[one.index] = chunk.attempts
        if failed and plan.failures[one.index] >= plan.plan.most_failures and plan.open:
            plan.poisoned = one.index
            plan.spare.clear()
