"""What a channel remembers: its last publications, numbered within one epoch.

A client that knows the epoch and the last offset it saw is told what it missed, or that it cannot be told.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import msgspec

from shoal.beacon.hub.commands import Position
from shoal.beacon.hub.limits import LARGEST_PAGE
from shoal.beacon.model import ErrorCode, Refused


@dataclass(frozen=True, slots=True)
class Publication:
    offset: int
    body: msgspec.Raw
    """``{"data": …, "offset": …}``, as it is pushed."""


class Stream:
    __slots__ = ("_gone_at", "_kept", "_ttl_s", "epoch", "offset")

    def __init__(self, *, epoch: str, size: int, ttl_s: float) -> None:
        self.epoch = epoch
        self.offset = 0
        self._kept: deque[Publication] = deque(maxlen=size)
        self._ttl_s = ttl_s
        self._gone_at = 0.0

    def add(self, data: msgspec.Raw, now: float) -> msgspec.Raw:
        """The body to push. All that is kept stays as long as the newest of it."""
        self._forget(now)
        self.offset += 1
        body = msgspec.Raw(b'{"data":%b,"offset":%d}' % (bytes(data), self.offset))
        self._kept.append(Publication(self.offset, body))
        self._gone_at = now + self._ttl_s
        return body

    def missed(self, since: Position, now: float) -> Sequence[msgspec.Raw] | None:
        """All that was published after a position; None when that cannot be told any more."""
        self._forget(now)
        missed = self.offset - since.offset
        if since.epoch not in ("", self.epoch) or not 0 <= missed <= min(len(self._kept), LARGEST_PAGE):
            return None
        return [one.body for one in islice(self._kept, len(self._kept) - missed, None)]

    def page(self, limit: int, since: Position | None, *, reverse: bool, now: float) -> list[msgspec.Raw]:
        """Oldest first, or newest first; from behind (or before) a position, if one is given."""
        self._forget(now)
        if since is not None:
            if reverse and since.offset == 0:
                raise Refused(ErrorCode.BAD_REQUEST, "bad request")
            if since.epoch not in ("", self.epoch):
                raise Refused(ErrorCode.UNRECOVERABLE_POSITION, "unrecoverable position")
        asked = (
            one.body
            for one in (reversed(self._kept) if reverse else self._kept)
            if since is None or (one.offset < since.offset if reverse else one.offset > since.offset)
        )
        return list(islice(asked, LARGEST_PAGE if limit < 0 else min(limit, LARGEST_PAGE)))

    def is_idle(self, now: float, for_s: float) -> bool:
        return now >= self._gone_at + for_s

    def _forget(self, now: float) -> None:
        if now >= self._gone_at:
            self._kept.clear()
