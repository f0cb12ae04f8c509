"""Every key a brain must have, and what must be in it, for a given state of the model: nothing more."""

from collections import defaultdict
from typing import Any

from msgspec.structs import astuple

from .reference import Model, ModelPlan

Keyspace = dict[str, Any]

OF_A_NODE = ("owner", "pools", "limit", "depth", "paused", "backlog")


def expected(model: Model) -> Keyspace:
    keys: Keyspace = defaultdict(dict)
    for task, one in model.plans.items():
        _expect_plan(keys, model, task, one)
    for node_id, node in model.nodes.items():
        rights = node.rights
        keys[f"{{node}}:{node_id}:state"] = {
            "owner": rights.owner,
            "pools": " ".join(rights.pools),
            "limit": str(rights.limit),
            "depth": str(node.depth),
            "paused": str(int(rights.paused)),
            "backlog": str(len(node.chunks)),
        }
        keys[f"{{node}}:{node_id}:chunks"] = {str(one) for one in node.chunks}
        keys["{node}:backlog:sorted"][node_id] = len(node.chunks)
        keys.setdefault("{node}:alive", set()).add(node_id)
        if node.room and node.fresh:
            for pool in rights.pools:
                keys.setdefault(f"{{node}}:room:{pool}", set()).add(node_id)
    for owner in model.guilds:
        keys[f"{{job}}:owner:{owner}:guilds"] = set(model.guilds[owner])
        keys["{job}:running"][owner] = str(model.running(owner))
    keys["{job}:running"] = {owner: count for owner, count in keys["{job}:running"].items() if count != "0"}
    keys["{node}:revoked"] = set(model.revoked)
    keys["{job}:recheck"] = set(model.rechecks)
    return {key: value for key, value in keys.items() if value}


def _expect_plan(keys: Keyspace, model: Model, task: str, one: ModelPlan) -> None:
    plan, key = one.plan, f"{{job}}:{task}"
    lane = f"{plan.owner}|{plan.engine}|{plan.audience}"
    keys[key] = {
        "cursor": str(one.cursor),
        "completed": str(len(one.done)),
        "count": one.fold.count,
        "mean": one.fold.mean,
        "m2": one.fold.m2,
        "poisoned": "dropped" if one.closing else None if one.poisoned is None else str(one.poisoned),
    }
    keys[f"{key}:failures"] = {str(index): str(count) for index, count in one.failures.items()}
    keys[f"{key}:done"] = set(one.done)
    keys[f"{key}:retry"] = {str(index): attempts for index, attempts in one.retry.items()}
    keys[f"{key}:spare"] = {str(index): attempts for index, attempts in one.spare.items()}
    keys[f"{key}:held"] = {
        str(index): (chunk.attempts, set(chunk.holders)) for index, chunk in one.held.items()
    }
    keys[f"{key}:votes"] = {
        str(index): [(vote.owner, vote.node, *astuple(vote.moments)) for vote in votes]
        for index, votes in one.votes.items()
    }
    keys[f"{key}:nodes"] = {node for node, part in one.parts.items()}
    keys[f"{key}:wrong"], keys[f"{key}:dropping"] = set(one.wrong), set(one.dropping)
    for node, part in one.parts.items():
        keys[f"{key}:of:{node}"] = {str(index) for index in part.chunks}
        if part.fold.count:
            keys[f"{key}:by:{node}"] = {"count": part.fold.count, "mean": part.fold.mean, "m2": part.fold.m2}
    if one.dropping:
        keys.setdefault("{job}:dropping", set()).add(task)
    keys["{job}:plans"][task] = plan.order
    keys.setdefault(f"{{job}}:owner:{plan.owner}:plans", set()).add(task)
    if one.waits:
        keys[f"{{job}}:lane:{lane}"][task] = plan.order
        for pool in model.pools(plan):
            keys.setdefault(f"{{job}}:open:{pool}", set()).add(lane)
    if one.full or one.poisoned is not None:
        keys.setdefault("{job}:settled", set()).add(task)


async def actual(client: Any) -> Keyspace:
    """What is there, read the way ``expected`` says it. A silent node may stand in a room until it is met."""
    found: Keyspace = {}
    for raw in await client.keys("*"):
        key = raw.decode()
        if key == "{node}:watch":
            continue
        found[key] = await _value(client, key)
    return found


async def _value(client: Any, key: str) -> Any:
    kind = (await client.type(key)).decode()
    if kind == "set":
        return {one.decode() for one in await client.smembers(key)}
    if kind == "zset":
        scores = {
            name.decode(): int(score) for name, score in await client.zrange(key, 0, -1, withscores=True)
        }
        return set(scores) if key == "{node}:alive" else scores
    if kind == "string":
        return _bits(await client.get(key) or b"")
    return _read(key, {name.decode(): value.decode() for name, value in (await client.hgetall(key)).items()})


def _read(key: str, fields: dict[str, str]) -> Any:
    if key == "{job}:running" or key.endswith(":failures"):
        return fields
    if key.endswith(":held"):
        return {index: _holders(entry) for index, entry in fields.items()}
    if key.startswith("{node}:"):
        return {name: fields[name] for name in OF_A_NODE} if key.endswith(":state") else set(fields)
    if key.endswith(":votes"):
        return {index: [_vote(vote) for vote in votes.split(";")] for index, votes in fields.items()}
    sums = {name: float(fields.get(name, 0)) for name in ("count", "mean", "m2")}
    if ":by:" in key:
        return sums
    return {name: fields.get(name) for name in ("cursor", "completed", "poisoned")} | sums


def _bits(stored: bytes) -> set[int]:
    return {at * 8 + bit for at, byte in enumerate(stored) for bit in range(8) if byte & (128 >> bit)}


def _vote(text: str) -> tuple[str | float, ...]:
    owner, node, *numbers = text.split(" ")
    return (owner, node, *map(float, numbers))


def _holders(entry: str) -> tuple[int, set[tuple[int, str]]]:
    attempts, *holders = entry.split(" ")
    return int(attempts), {(int(attempt), node) for attempt, node in (one.split(":") for one in holders)}
