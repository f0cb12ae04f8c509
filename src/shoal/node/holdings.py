"""What a node holds and owes, as a state machine: what happened comes in, what is to be done comes out.

Nothing here waits, sends or computes. A chunk is **held** until it has ended, then its ending is **owed**
until the server has a verdict on it; after that, and when it is lost, it is **past**. What the server
believes that the node has is what it holds and what it owes.

Messages overtake each other, so each thing that happens has a number, its **turn**, and an answer counts as
of the turn in which it was asked for:

* what came or ended after a question was asked is not undone by its answer;
* a chunk that is past comes back only by an answer to a question that was asked after it ended: the server
  has forgotten what it knew. A push is no answer, and may be old.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from shoal.node.chunks import Ending
from shoal.wire.fleet import HeldChunk, digest_of

MOST_PAST = 2000
"""How many chunks that are past are remembered. An older one that a late push brings is computed again."""


@dataclass(frozen=True)
class Begin:
    """Compute these."""

    chunks: tuple[HeldChunk, ...]


@dataclass(frozen=True)
class Drop:
    """Stop what runs of these, and forget them."""

    chunk_ids: tuple[str, ...]


@dataclass(frozen=True)
class Offer:
    """Tell the server how this one ended, until it has a verdict."""

    chunk_id: str


@dataclass(frozen=True)
class HandBack:
    """Tell the server that these have not begun and will not."""

    chunk_ids: tuple[str, ...]


@dataclass(frozen=True)
class LookUp:
    """Ask the server what this node is supposed to have."""


Action = Begin | Drop | Offer | HandBack | LookUp


@dataclass
class Holdings:
    """``owed`` may begin with what an earlier run of the node has kept."""

    owed: dict[str, Ending] = field(default_factory=dict)
    turn: int = 0
    is_leaving: bool = False
    _held: dict[str, int] = field(default_factory=dict)
    """The turn in which each of them came."""
    _past: dict[str, int] = field(default_factory=dict)
    """The turn in which each of them ended, the oldest first."""
    _is_looking: bool = False
    _look_again: bool = False

    @property
    def held(self) -> Collection[str]:
        return self._held.keys()

    @property
    def digest(self) -> str:
        """Of what the server should believe that this node has."""
        return digest_of([*self._held, *self.owed])

    @property
    def is_empty(self) -> bool:
        return not (self._held or self.owed)

    def connected(self) -> list[Action]:
        """A connection is new: nothing of what was asked before will be answered."""
        self._is_looking = self._look_again = False
        return [*self.look_up(), *(Offer(chunk_id) for chunk_id in self.owed)]

    def pushed(self, chunks: Iterable[HeldChunk]) -> list[Action]:
        """A message says that these are ours now."""
        return self._take(chunk for chunk in chunks if chunk.id not in self._past)

    def handed(self, chunks: Iterable[HeldChunk], *, asked: int) -> list[Action]:
        """An answer brought more of them; it was asked for in the turn ``asked``."""
        return self._take(chunk for chunk in chunks if self._past.get(chunk.id, -1) <= asked)

    def looked(self, chunks: Collection[HeldChunk], *, asked: int) -> list[Action]:
        """These, and no others, are ours, as of some moment after ``asked``."""
        self._is_looking = False
        listed = {chunk.id for chunk in chunks}
        gone = [one for one, came in self._held.items() if came <= asked and one not in listed]
        again = self.look_up() if self._look_again else []
        return [*self.lost(gone), *self.handed(chunks, asked=asked), *again]

    def look_failed(self) -> list[Action]:
        self._is_looking = False
        return self.look_up()

    def felt(self, server_digest: str) -> list[Action]:
        """The server answered a heartbeat."""
        return [] if server_digest == self.digest else self.look_up()

    def lost(self, chunk_ids: Iterable[str]) -> list[Action]:
        """They are no longer ours. What is owed is told all the same: it may be in time."""
        dropped = tuple(one for one in chunk_ids if self._held.pop(one, None) is not None)
        for chunk_id in dropped:
            self._end(chunk_id)
        return [Drop(dropped)] if dropped else []

    def ended(self, chunk_id: str, ending: Ending) -> list[Action]:
        """It was computed, or it cannot be."""
        if self._held.pop(chunk_id, None) is None:
            return []
        self._next_turn()
        self.owed[chunk_id] = ending
        return [Offer(chunk_id)]

    def settled(self, chunk_id: str) -> None:
        """There is a verdict."""
        if self.owed.pop(chunk_id, None) is not None:
            self._end(chunk_id)

    def hand_back(self, waiting: Iterable[str]) -> list[Action]:
        """Give back what has not begun."""
        dropped = self.lost(waiting)
        return [*dropped, *(HandBack(one.chunk_ids) for one in dropped if isinstance(one, Drop))]

    def leave(self, waiting: Iterable[str]) -> list[Action]:
        """Take no more, and give back what has not begun."""
        self.is_leaving = True
        return self.hand_back(waiting)

    def _take(self, chunks: Iterable[HeldChunk]) -> list[Action]:
        new = {
            chunk.id: chunk for chunk in chunks if chunk.id not in self._held and chunk.id not in self.owed
        }
        if not new:
            return []
        if self.is_leaving:
            for chunk_id in new:
                self._end(chunk_id)
            return [HandBack(tuple(new))]
        turn = self._next_turn()
        for chunk_id in new:
            self._past.pop(chunk_id, None)
            self._held[chunk_id] = turn
        return [Begin(tuple(new.values()))]

    def look_up(self) -> list[Action]:
        """One question at a time: a second one has to wait, as its answer may be older than the first."""
        self._look_again = self._is_looking
        if self._is_looking:
            return []
        self._is_looking = True
        return [LookUp()]

    def _end(self, chunk_id: str) -> None:
        self._past.pop(chunk_id, None)
        self._past[chunk_id] = self._next_turn()
        while len(self._past) > MOST_PAST:
            del self._past[next(iter(self._past))]

    def _next_turn(self) -> int:
        self.turn += 1
        return self.turn
