"""Simulated nodes on a real brain: what they are told is real, only their work is not done."""

from typing import Any

from shoal.fleet.brain import FleetBrain
from shoal.fleet.model import NodeRights, Plan

TASK = "11111111-2222-4333-8444-555555555555"


async def open_plan(brain: FleetBrain, *, chunks: int, task: str = TASK, **facts: Any) -> Plan:
    plan = Plan(
        **{
            "task": task,
            "token": "token",
            "job": "99999999-2222-4333-8444-555555555555",
            "owner": "ann",
            "engine": "dps@1",
            "audience": "public",
            "config_hash": "0" * 64,
            "iterations": chunks * 10,
            "size": 10,
            **facts,
        }
    )
    assert await brain.open_plan(plan) == "OK"
    return plan


async def admit(brain: FleetBrain, count: int, *, depth: int) -> list[str]:
    nodes = [f"node-{number}" for number in range(count)]
    for node in nodes:
        rights = NodeRights(
            node=node,
            owner="host",
            accepts=frozenset({"public"}),
            engines=frozenset({"dps@1"}),
            limit=depth,
            depth=depth,
        )
        assert not isinstance(await brain.admit_node(rights), str)
    return nodes
