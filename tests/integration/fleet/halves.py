"""Calls of the brain that take several steps, up to the step after which their caller dies."""

from collections.abc import Sequence
from typing import Any

from shoal.brain.scripts import load_scripts

_scripts = load_scripts("shoal.fleet")


async def change_grants(client: Any, owner: str, guilds: Sequence[str]) -> None:
    await _scripts.change_grants(client, args={"owner": owner, "guilds": guilds})


async def drop_one(client: Any, task: str) -> tuple[int, list[tuple[str, str]]]:
    """Close the plan and take one held chunk from its holders; how many are left, and who held it."""
    left, *words = await _scripts.drop_plan(client, args={"task": task, "token": "", "most": 1})
    return left, [(node.decode(), one.decode()) for node, one in zip(words[::2], words[1::2], strict=True)]
