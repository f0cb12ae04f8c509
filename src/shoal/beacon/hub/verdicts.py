"""What a session asks, and what it can be told. A refusal or a cut is told as such."""

from dataclasses import dataclass
from typing import Any, TypeAlias

from shoal.beacon.hub.commands import Request
from shoal.beacon.model import Identity


@dataclass(frozen=True, slots=True)
class Ask:
    number: int
    """The id of the command; 0 for a subscription that the session renews by itself."""
    request: Request

    @property
    def is_renewal(self) -> bool:
        return self.number == 0


@dataclass(frozen=True, slots=True)
class Admitted:
    """The client may connect, for ``ttl`` seconds or for good."""

    identity: Identity
    ttl: float | None = None


@dataclass(frozen=True, slots=True)
class Renewed:
    identity: Identity
    ttl: float | None = None


@dataclass(frozen=True, slots=True)
class Allowed:
    """The client may do what it asked for; a subscription lasts for ``ttl`` seconds or for good."""

    ttl: float | None = None
    data: Any = None

    def until(self, now: float) -> float:
        return float("inf") if self.ttl is None else now + self.ttl


@dataclass(frozen=True, slots=True)
class Answered:
    data: Any


Verdict: TypeAlias = Admitted | Renewed | Allowed | Answered
