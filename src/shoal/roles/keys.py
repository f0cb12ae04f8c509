"""What ``shoal key`` works with: the access room, on a ledger that lives for one call."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from shoal.access.service import Access
from shoal.access.settings import AccessSettings
from shoal.ledger.pool import Ledger
from shoal.ledger.settings import LedgerSettings
from shoal.runtime.clock import SystemClock
from shoal.runtime.settings import Settings

Answer = TypeVar("Answer")


async def with_access(settings: Settings, call: Callable[[Access], Awaitable[Answer]]) -> Answer:
    ledger = Ledger(settings[LedgerSettings], application="shoal key")
    await ledger.start()
    try:
        return await call(Access(ledger, settings[AccessSettings], SystemClock()))
    finally:
        await ledger.stop()
