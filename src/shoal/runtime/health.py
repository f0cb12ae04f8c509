"""Health: each part that depends on something outside says in one call whether it can reach it."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Literal

Check = Callable[[], Awaitable[object]]
State = Literal["connected", "disconnected", "disabled"]

TIMEOUT_S = 2.0


async def check_all(checks: Mapping[str, Check]) -> dict[str, State]:
    """Run all checks side by side; one that raises, or takes too long, is ``disconnected``."""
    states = await asyncio.gather(*(_state(check) for check in checks.values()))
    return dict(zip(checks, states, strict=True))


async def _state(check: Check) -> State:
    try:
        async with asyncio.timeout(TIMEOUT_S):
            await check()
    except Exception:  # noqa: BLE001 - whatever it was, it does not answer
        return "disconnected"
    return "connected"
