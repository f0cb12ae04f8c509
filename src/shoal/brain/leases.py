"""Leases: at most one holder at a time, by the server's clock, with an epoch to fence its writes.

A paused holder can wake up after its lease ended. So a lease only saves work; whatever must not
happen twice carries the epoch, and the store it is written to refuses a smaller one.
"""

from datetime import timedelta
from uuid import uuid4

from redis.asyncio import Redis

from shoal.brain.scripts import load_scripts
from shoal.runtime.clock import Clock, SystemClock

_scripts = load_scripts("shoal.brain")


class Lease:
    """One contender for the lease at ``key``. Call ``hold`` again well before ``ttl`` is over."""

    def __init__(self, client: Redis, key: str, *, ttl: timedelta, clock: Clock | None = None) -> None:
        self._client = client
        self._key = key
        self._ttl = ttl
        self._clock = clock or SystemClock()
        self._token = uuid4().hex
        self._epoch: int | None = None
        self._trusted_until = 0.0

    @property
    def epoch(self) -> int | None:
        """The epoch while the lease is certainly held, else None.

        It counts from before ``hold`` was sent, on this machine's monotonic clock, so it ends no
        later than the lease does on the server.
        """
        return self._epoch if self._clock.monotonic() < self._trusted_until else None

    async def hold(self) -> int | None:
        """Take or extend the lease; its epoch, or None when somebody else holds it.

        When the server does not answer, what was held stays held until its time is over.
        """
        asked = self._clock.monotonic()
        epoch, _ = await _scripts.hold_lease(
            self._client,
            keys={"lease": self._key},
            args={"token": self._token, "ttl_ms": _milliseconds(self._ttl)},
        )
        self._epoch = epoch or None
        self._trusted_until = asked + self._ttl.total_seconds() if epoch else 0.0
        return self.epoch

    async def release(self) -> None:
        """Give the lease up at once; does nothing when it is not ours (any more)."""
        self._epoch = None
        await _scripts.release_lease(self._client, keys={"lease": self._key}, args={"token": self._token})


def _milliseconds(span: timedelta) -> int:
    return span // timedelta(milliseconds=1)
