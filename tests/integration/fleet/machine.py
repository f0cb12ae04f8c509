"""A small world of sentinels and nodes: what can happen happens at random, to the brain and to the model.

Nodes know only what they were told: an answer may be lost, a result sent late, twice or to a brain that was
rolled back since. After every step the brain has exactly the keys the model says, with the same in them.
"""

import asyncio
import os
from collections.abc import Coroutine
from copy import deepcopy
from typing import Any, ClassVar, TypeVar

import msgspec
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from redis.asyncio import Redis

from shoal.fleet.brain import FleetBrain
from shoal.fleet.model import Assignment, Attempt, Completion, Moments, NodeRights, Plan, Poisoned

from . import keyspace
from .halves import change_grants, drop_one
from .reference import Model

LONG = "SHOAL_LONG_PROPERTIES"
"""In the environment: run many more steps than a test should take."""

Answer = TypeVar("Answer")

OWNERS = ("ann", "bob", "cyd")
GUILDS = ("g1", "g2")
TASKS = tuple(f"task-{number}" for number in range(3))
NODES = tuple(f"node-{number}" for number in range(4))
ENGINES = ("dps@1", "dps@1", "pi@2")
GRANTS = ("public", "user:ann", "discord:g1", "discord:g2")
MANY = 30
LIAR = NODES[2]
"""It computes something else than the others."""

seldom = st.integers(0, 5).map(lambda number: number == 3)
"""For what destroys much: between two of these, something must have grown."""

plans = st.builds(
    Plan,
    task=st.sampled_from(TASKS),
    token=st.sampled_from(("first", "second")),
    job=st.just("job"),
    owner=st.sampled_from(OWNERS),
    engine=st.sampled_from(ENGINES),
    audience=st.sampled_from(("own", "shared", "public", "public")),
    config_hash=st.just("hash"),
    iterations=st.integers(5, 24),
    size=st.integers(2, 5),
    order=st.integers(0, 3),
    most_failures=st.sampled_from((1, 2, 20)),
    seed=st.sampled_from((0, 2**53 - 1)),
    sample=st.sampled_from((0.0, 0.0, 0.5, 1.0)),
    tolerance=st.sampled_from((0.0, 1e-6)),
)


@st.composite
def rights(draw: st.DrawFn) -> NodeRights:
    owner = draw(st.sampled_from(OWNERS))
    return NodeRights(
        node=draw(st.sampled_from(NODES)),
        owner=owner,
        accepts=draw(st.frozensets(st.sampled_from(GRANTS), max_size=2)) | {f"owner:{owner}"},
        engines=draw(st.frozensets(st.sampled_from(ENGINES), min_size=1)),
        limit=draw(st.integers(1, 6)),
        depth=draw(st.integers(1, 6)),
        paused=draw(seldom),
    )


def result_of(one: Attempt, plan: Plan) -> Moments:
    """What an engine answers: decided by the chunk alone."""
    count = min(plan.size, plan.iterations - one.index * plan.size)
    mean = 1000 + ((one.index * 7919 + len(plan.task)) % 997) / 7
    return Moments(count, mean, count * 3.7, mean - 5, mean + 5)


class FleetMachine(RuleBasedStateMachine):
    url: ClassVar[str]

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.client: Any = self.run(self._connect())
        self.brain = FleetBrain(self.client)
        self.model = Model()
        self.told: list[tuple[str, Attempt]] = []
        """What nodes were ever told to do, and may send a result of at any time."""
        self.facts: dict[str, Plan] = {}
        self.snapshot: tuple[Model, dict[bytes, bytes]] | None = None

    def run(self, work: Coroutine[Any, Any, Answer]) -> Answer:
        return self.runner.run(work)

    async def _connect(self) -> Redis:
        client = Redis.from_url(self.url)
        await client.flushall()
        return client

    def teardown(self) -> None:
        self.run(self.client.aclose())
        self.runner.close()

    def _tell(self, assignments: list[Assignment], *, arrives: bool = True) -> list[tuple[str, str]]:
        for one in assignments:
            attempt = Attempt.parse(one.id)
            assert attempt is not None
            plan = self.model.plans[attempt.task].plan
            assert one.seed_offset == attempt.index * plan.size
            assert one.iterations == result_of(attempt, plan).count
            assert (one.job, one.config_hash, one.engine) == (plan.job, plan.config_hash, plan.engine)
            assert one.seed == plan.seed
            if arrives:
                self.told.append((one.node, attempt))
        return [(one.node, one.id) for one in assignments]

    @initialize(order=st.permutations(TASKS), owners=st.permutations(OWNERS))
    def begin_with_some_work(self, order: list[str], owners: list[str]) -> None:
        for task, owner in zip(order[:2], owners, strict=False):
            self.open_plan(
                Plan(
                    task=task,
                    token="first",
                    job="job",
                    owner=owner,
                    engine="dps@1",
                    audience="public",
                    config_hash="hash",
                    iterations=17,
                    size=4,
                ),
                set(),
            )
        for node in NODES[:3]:
            public = frozenset({"public"})
            self.admit_node(
                NodeRights(
                    node=node, owner="ann", accepts=public, engines=frozenset({"dps@1"}), limit=6, depth=4
                ),
                present=True,
            )

    # The ledger says what there is to do

    @rule(plan=plans, guilds=st.sets(st.sampled_from(GUILDS)))
    def open_plan(self, plan: Plan, guilds: set[str]) -> None:
        # A claim token belongs to one description of the work: the ledger's.
        plan = self.facts.setdefault(f"{plan.task} {plan.token}", plan)
        expected = self.model.open(plan, guilds)
        assert self.run(self.brain.open_plan(plan, sorted(guilds))) == expected

    @rule(task=st.sampled_from(TASKS), token=st.sampled_from(("first", "second", "")), now=seldom)
    def drop_plan(self, task: str, token: str, now: bool) -> None:
        if not now and not (task in self.model.plans and self.model.plans[task].full):
            return
        expected = self.model.drop(task, token)
        assert set(self.run(self.brain.drop_plan(task, token))) == expected

    @rule(owner=st.sampled_from(OWNERS), guilds=st.sets(st.sampled_from(GUILDS)))
    def change_grants(self, owner: str, guilds: set[str]) -> None:
        self.model.change_grants(owner, guilds)
        expected = set().union(*(self.model.recheck(task) for task in sorted(self.model.rechecks_of(owner))))
        assert set(self.run(self.brain.change_grants(owner, sorted(guilds)))) == expected

    @rule(owner=st.sampled_from(OWNERS), guilds=st.sets(st.sampled_from(GUILDS)))
    def change_grants_and_die(self, owner: str, guilds: set[str]) -> None:
        """Before it was looked at what is held."""
        self.model.change_grants(owner, guilds)
        self.run(change_grants(self.client, owner, sorted(guilds)))

    @rule()
    def recheck_what_was_left(self) -> None:
        left = self.run(self.brain.rechecks())
        assert left == sorted(self.model.rechecks)
        for task in left:
            assert set(self.run(self.brain.recheck_plan(task))) == self.model.recheck(task)

    @rule(task=st.sampled_from(TASKS), now=seldom)
    def drop_a_part_and_die(self, task: str, now: bool) -> None:
        plan = self.model.plans.get(task)
        if now and plan and plan.held:
            left, gone = self.run(drop_one(self.client, task))
            self.model.begin_to_drop(task, gone)
            if not left:
                self.model.drop(task, "")

    # Nodes come, go and fall silent

    @rule(rights=rights(), present=st.booleans())
    def admit_node(self, rights: NodeRights, present: bool) -> None:
        expected = self.model.admit(rights, present)
        answer = self.run(self.brain.admit_node(rights, present=present))
        assert (answer if isinstance(answer, str) else set(answer[1])) == expected

    @rule(node=st.sampled_from(NODES), depth=st.integers(1, 6), stalls=seldom)
    def heartbeat(self, node: str, depth: int, stalls: bool) -> None:
        stalled = set()
        if stalls and node in self.model.nodes:
            stalled = set(sorted(self.model.nodes[node].chunks)[:1])
            for one in stalled:
                self.run(self.client.hset(f"{{node}}:{node}:chunks", str(one), "1 1 0"))
        expected = self.model.heartbeat(node, depth, stalled)
        pulse = self.run(self.brain.heartbeat(node, depth=depth))
        assert (None if pulse is None else set(pulse.lost)) == expected

    @rule(node=st.sampled_from(NODES), silence_ms=st.sampled_from((70_000, 100_000)))
    def fall_silent(self, node: str, silence_ms: int) -> None:
        if node not in self.model.nodes or not self.model.nodes[node].fresh:
            return
        self.model.nodes[node].fresh = False
        self.model.nodes[node].silent = silence_ms > 90_000
        state = f"{{node}}:{node}:state"
        heard = self.run(self.client.hincrby(state, "last_heartbeat", -silence_ms))
        self.run(self.client.zadd("{node}:alive", {node: heard}))

    @rule()
    def reclaim_chunks(self) -> None:
        self.run(self._watch())
        expected = self.model.reclaim()
        assert self.run(self.brain.reclaim_chunks()) == expected

    @rule()
    def reclaim_chunks_after_nobody_looked(self) -> None:
        """The brain or every sentinel was away, so no node could be heard: nobody is forgotten."""
        self.run(self.client.delete("{node}:watch"))
        assert self.run(self.brain.reclaim_chunks()) == {}

    async def _watch(self) -> None:
        now, _ = await self.client.time()
        await self.client.hset("{node}:watch", mapping={"since": 0, "last": now * 1000})

    @rule(data=st.data(), node=st.sampled_from(NODES), leaving=seldom)
    def hand_back_chunks(self, data: st.DataObject, node: str, leaving: bool) -> None:
        known = sorted({one for _, one in self.told} | {Attempt("gone", 0, 1)})
        ids = data.draw(st.lists(st.sampled_from(known), max_size=3))
        expected = self.model.hand_back(node, ids, leaving)
        answer = self.run(self.brain.hand_back_chunks(node, [str(one) for one in ids], leaving=leaving))
        assert set(answer) == expected

    @rule(data=st.data(), late=st.booleans(), wanted=st.integers(0, 2))
    def fail_chunk(self, data: st.DataObject, late: bool, wanted: int) -> None:
        held = [(node_id, one) for node_id, node in self.model.nodes.items() for one in node.chunks]
        if chosen := self.told[-MANY:] if late else sorted(held):
            node, one = data.draw(st.sampled_from(chosen))
            expected = self.model.fail(node, one, "no luck")
            verdict, next_chunks = self.run(self.brain.fail_chunk(node, one, reason="no luck", wanted=wanted))
            assert verdict == expected
            if node in self.model.nodes and self.model.nodes[node].rests:
                # It lasts until the machine ends it, however slow the test is.
                self.run(self.client.hset(f"{{node}}:{node}:state", "rests", f"1 {10**14}"))
            given = []
            if (
                verdict == "OK"
                and self.model.nodes[node].rights.owner == self.model.plans[one.task].plan.owner
            ):
                given = self.model.fill(node, wanted)
            assert self._tell(next_chunks) == [(node, one) for one in given]

    @rule(node=st.sampled_from(NODES))
    def wake_from_rest(self, node: str) -> None:
        if node in self.model.nodes and self.model.nodes[node].rests:
            self.run(self.client.hset(f"{{node}}:{node}:state", "rests", "3 0"))
            self.model.nodes[node].rests = False
            self.heartbeat(node, 4, stalls=False)

    @rule(node=st.sampled_from(NODES[-1:]), now=seldom)
    def revoke_node(self, node: str, now: bool) -> None:
        if not now:
            return
        expected = self.model.revoke(node)
        assert self.run(self.brain.revoke_node(node)) == expected

    # Chunks are handed out and come back

    @rule(
        nodes=st.lists(st.sampled_from(NODES), min_size=1, max_size=4),
        most=st.integers(1, 12),
        arrives=st.booleans(),
    )
    def assign_chunk(self, nodes: list[str], most: int, arrives: bool) -> None:
        expected: list[tuple[str, str]] = []
        for node in nodes:
            expected += [(node, one) for one in self.model.fill(node, most - len(expected))]
        answer = self.run(self.brain.assign_chunk(nodes, most=most))
        assert self._tell(answer, arrives=arrives) == expected

    @rule(task=st.sampled_from(TASKS), most=st.integers(1, 12), arrives=st.booleans())
    def select_nodes(self, task: str, most: int, arrives: bool) -> None:
        expected = self.model.select(task, most)
        answer = self.run(self.brain.select_nodes(task, most=most))
        assert self._tell(answer, arrives=arrives) == expected

    @rule(task=st.sampled_from(TASKS))
    def spare_chunks(self, task: str) -> None:
        if task in self.model.plans:
            expected = self.model.spare_chunks(task, 128)
            assert self.run(self.brain.spare_chunks(task, older_ms=-1)) == expected

    @rule(task=st.sampled_from(TASKS), nodes=st.permutations(NODES), most=st.integers(1, 4))
    def come_to_the_end(self, task: str, nodes: list[str], most: int) -> None:
        """Everything is handed out, and then what somebody holds once more."""
        self.assign_chunk(nodes, 50, arrives=True)
        self.spare_chunks(task)
        self.assign_chunk(nodes[::-1], most, arrives=True)

    @rule(node=st.sampled_from(NODES))
    def get_assigned_chunks(self, node: str) -> None:
        answer = self.run(self.brain.held_chunks(node))
        held = self.model.nodes[node].chunks if node in self.model.nodes else set()
        assert {one for _, one in self._tell(answer)} == {str(one) for one in held}

    @rule(data=st.data(), count=st.integers(1, 4), wanted=st.integers(0, 3), answered=st.booleans())
    def complete_what_is_held(self, data: st.DataObject, count: int, wanted: int, answered: bool) -> None:
        held = [(node_id, one) for node_id, node in self.model.nodes.items() for one in node.chunks]
        if held:
            chosen = data.draw(st.lists(st.sampled_from(sorted(held)), min_size=1, max_size=count))
            self._complete(chosen, wanted, answered)

    @precondition(lambda self: self.told)
    @rule(data=st.data(), wanted=st.integers(0, 1), stranger=st.sampled_from((None, None, *NODES)))
    def complete_what_was_told(self, data: st.DataObject, wanted: int, stranger: str | None) -> None:
        """Late, again, or by somebody else."""
        node, one = data.draw(st.sampled_from(self.told[-MANY:]))
        self._complete([(stranger or node, one)], wanted, True)

    def _complete(self, chosen: list[tuple[str, Attempt]], wanted: int, answered: bool) -> None:
        sent = []
        for node, one in chosen:
            plan = self.model.plans.get(one.task)
            part = result_of(one, plan.plan) if plan else Moments(1, 1.0, 0.0, 1.0, 1.0)
            if node == LIAR:
                part = msgspec.structs.replace(part, mean=part.mean + 1)
            sent.append(Completion(node=node, attempt=one, moments=part, wanted=wanted))
        answers = self.run(self.brain.complete_chunk(sent))
        for completion, answer in zip(sent, answers, strict=True):
            self._compare_completion(completion, answer, answered)

    def _compare_completion(self, sent: Completion, answer: Any, answered: bool) -> None:
        assert sent.moments is not None
        verdict, freed = self.model.complete(sent.node, sent.attempt, sent.moments)
        assert (answer.verdict, set(answer.freed)) == (verdict, freed)
        plan = self.model.plans.get(sent.attempt.task)
        if plan and verdict in {"OK", "ALREADY_COMPLETED", "WRONG_NODE"}:
            assert (answer.completed, answer.total) == (len(plan.done), plan.plan.total)
            assert answer.aggregate == (verdict == "OK" and plan.full)
        given = self.model.fill(sent.node, sent.wanted)
        assert self._tell(list(answer.next), arrives=answered) == [(sent.node, one) for one in given]

    @rule()
    def drop_wrong_parts(self) -> None:
        self.model.drop_wrong_parts()
        self.run(self.brain.drop_wrong_parts())

    @rule(task=st.sampled_from(TASKS))
    def lock_plan(self, task: str) -> None:
        answer = self.run(self.brain.lock_plan(task, "me"))
        plan = self.model.plans.get(task)
        if isinstance(answer, str):
            assert answer == ("NOT_FOUND" if plan is None or plan.closing else "NOT_FULL")
            assert plan is None or plan.closing or not plan.full
            return
        if isinstance(answer, Poisoned):
            assert plan is not None
            assert answer == Poisoned(plan.poisoned if plan.poisoned is not None else -1, plan.reason)
            return
        assert plan is not None
        assert plan.full
        assert answer.moments == plan.moments
        assert answer.moments.count == plan.plan.iterations

    # The brain loses its memory

    @rule()
    def write_file(self) -> None:
        async def dump() -> dict[bytes, bytes]:
            return {key: await self.client.dump(key) for key in await self.client.keys("*")}

        self.snapshot = (deepcopy(self.model), self.run(dump()))

    @precondition(lambda self: self.snapshot)
    @rule(now=seldom)
    def roll_back(self, now: bool) -> None:
        """The append-only file lost its end, or a replica that was behind took over."""
        if not now or self.snapshot is None:
            return
        model, dump = self.snapshot
        self.model = deepcopy(model)

        async def restore() -> None:
            await self.client.flushall()
            for key, value in dump.items():
                await self.client.restore(key, 0, value)

        self.run(restore())

    @rule(now=seldom)
    def flush(self, now: bool) -> None:
        """All is lost. The reconciler opens the plans again, under the same claims."""
        if not now:
            return
        lost = [one.plan for one in self.model.plans.values()]
        self.model = Model()
        self.run(self.client.flushall())
        for plan in lost:
            assert self.run(self.brain.open_plan(plan)) == self.model.open(plan, set())

    # What always holds

    @invariant()
    def the_brain_is_as_the_model_says(self) -> None:
        expected = keyspace.expected(self.model)
        actual = self.run(keyspace.actual(self.client))
        for key in [one for one in actual if one.startswith("{node}:room:")]:
            actual[key] = {one for one in actual[key] if self.model.nodes[one].fresh}
        different = {key for key in {*actual, *expected} if (actual.get(key) or None) != expected.get(key)}
        assert not {key: (actual.get(key), expected.get(key)) for key in different}

    @invariant()
    def every_chunk_is_in_exactly_one_place(self) -> None:
        for one in self.model.plans.values():
            if one.closing:
                continue
            fresh = set(range(one.cursor, one.plan.total))
            places = [one.done, set(one.retry), set(one.held), fresh]
            assert set().union(*places) == set(range(one.plan.total))
            assert sum(map(len, places)) == one.plan.total

    @invariant()
    def what_nodes_hold_is_what_plans_say(self) -> None:
        """Both sides of the same fact; a node that joined later cannot exceed its limit by assignment."""
        of_plans = {
            (holder, Attempt(task, index, attempt))
            for task, one in self.model.plans.items()
            for index, chunk in one.held.items()
            for attempt, holder in chunk.holders
        }
        of_nodes = {(node_id, one) for node_id, node in self.model.nodes.items() for one in node.chunks}
        assert of_plans == of_nodes


def profile() -> settings:
    long = bool(os.environ.get(LONG))
    return settings(
        max_examples=2000 if long else 40,
        stateful_step_count=120 if long else 50,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
