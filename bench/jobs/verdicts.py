"""What follows from the measurements: who is void, who is best, and by how much we beat them."""

from collections.abc import Mapping
from dataclasses import dataclass

LEAST_SHARE = 0.5


@dataclass(frozen=True)
class Contest:
    """One figure of every side. ``known`` are the peers' former figures, as this machine would do them."""

    ours: float
    peers: Mapping[str, float]
    known: Mapping[str, float]
    more_is_better: bool = True

    def void_peers(self) -> list[str]:
        """Those that did less than a share of what they are known for."""
        return [name for name in self.peers if self._merit(name) < LEAST_SHARE * self._known_merit(name)]

    def best_peer(self) -> str | None:
        """None without peers, or when the best might be one of the void."""
        void = self.void_peers()
        valid = [name for name in self.peers if name not in void]
        best = max(valid, key=self._merit, default=None)
        if best is None or any(self._known_merit(name) > self._merit(best) for name in void):
            return None
        return best

    def ratio(self) -> float | None:
        best = self.best_peer()
        return None if best is None else self.ours / self.peers[best]

    def _merit(self, name: str) -> float:
        return self.peers[name] if self.more_is_better else 1 / self.peers[name]

    def _known_merit(self, name: str) -> float:
        return self.known[name] if self.more_is_better else 1 / self.known[name]
