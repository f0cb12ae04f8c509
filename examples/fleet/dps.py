"""A fight, simulated many times at once: each number in an array belongs to one of the fights.

A fight lasts about ``seconds``. Its caster casts what the rotation says, one spell after the other, and
waits a little where it says nothing. A cast takes ``cast_s``, costs mana and hits when it is over: for its
damage, up to a tenth more or less, twice that with the chance of a critical hit. A spell may boost all that
hits in the seconds after it. A cast counts if it is over before the fight is.

Two words of a fight's random stream decide its length, and two of them each of its steps. They are drawn
whether they are needed or not, so a fight goes the same way whichever others it is simulated with.
"""

from typing import Annotated

import msgspec
import numpy as np
from numpy.typing import NDArray

from examples.fleet.rotation import SPELL, Line, parse_rotation
from shoal import Iterations
from shoal.app.streams import Numbers, Streams

PAUSE_S = 0.5
VARIATION = 0.1

Positive = Annotated[float, msgspec.Meta(ge=0, le=1e6)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=3600)]


class Spell(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """While its boost lasts, what hits is multiplied by ``boost``."""

    damage: Positive = 0.0
    cast_s: Annotated[float, msgspec.Meta(ge=0.5, le=60)] = 1.5
    cooldown_s: Seconds = 0.0
    mana: Positive = 0.0
    boost: Annotated[float, msgspec.Meta(ge=1, le=10)] = 1.0
    boost_s: Seconds = 0.0


class Fight(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The config of the engine. Mana is full at first."""

    spells: Annotated[
        dict[Annotated[str, msgspec.Meta(pattern=f"^{SPELL}$")], Spell],
        msgspec.Meta(min_length=1, max_length=30),
    ]
    rotation: Annotated[str, msgspec.Meta(max_length=20_000)]
    seconds: Annotated[float, msgspec.Meta(ge=10, le=1800)] = 300.0
    mana: Positive = 100.0
    mana_per_s: Positive = 5.0
    critical: Share = 0.2

    def __post_init__(self) -> None:
        parse_rotation(self.rotation, self.spells)


def simulate(fight: Fight, iterations: Iterations) -> Numbers:
    """The damage per second in each of these fights."""
    state = _Fights(fight, iterations)
    while state.go_on():
        state.step()
    return state.damage / state.ends


class _Fights:
    def __init__(self, fight: Fight, iterations: Iterations) -> None:
        self._fight = fight
        self._lines = parse_rotation(fight.rotation, fight.spells)
        self._places = {name: place for place, name in enumerate(fight.spells)}
        self._streams = Streams(iterations)
        self.ends: Numbers = fight.seconds * (1 + VARIATION * self._streams.normal().clip(-3, 3))
        self.damage: Numbers = np.zeros(len(iterations))
        self._time: Numbers = np.zeros(len(iterations))
        self._mana: Numbers = np.full(len(iterations), float(fight.mana))
        # For each spell: when it can be cast again, and when its boost is over.
        self._ready: Numbers = np.zeros((len(fight.spells), len(iterations)))
        self._boosted: Numbers = np.zeros((len(fight.spells), len(iterations)))
        self._spells = {
            field: np.array([getattr(spell, field) for spell in fight.spells.values()])
            for field in Spell.__struct_fields__
        }

    def go_on(self) -> bool:
        return bool((self._time < self.ends).any())

    def step(self) -> None:
        """Every fight casts a spell or waits; those that are over do so without effect."""
        luck, criticality = self._streams.uniform(), self._streams.uniform()
        chosen = self._choice()
        casts = chosen >= 0
        spell = np.where(casts, chosen, 0)
        takes = np.where(casts, self._spells["cast_s"][spell], PAUSE_S)
        hits = self._time + takes
        strength = self._spells["damage"][spell] * (1 + VARIATION * (2 * luck - 1)) * self._boost(hits)
        strength *= np.where(criticality < self._fight.critical, 2.0, 1.0)
        self.damage += np.where(casts & (hits <= self.ends), strength, 0.0)
        self._mana -= np.where(casts, self._spells["mana"][spell], 0.0)
        self._mana = np.minimum(self._mana + takes * self._fight.mana_per_s, self._fight.mana)
        (who,) = np.nonzero(casts)
        self._ready[spell[who], who] = hits[who] + self._spells["cooldown_s"][spell[who]]
        self._boosted[spell[who], who] = hits[who] + self._spells["boost_s"][spell[who]]
        self._time = hits

    def _choice(self) -> NDArray[np.int64]:
        """The place of the spell that each fight casts next; -1 where it waits."""
        chosen = np.full(len(self._time), -1)
        values = self._values()
        for line in reversed(self._lines):  # the first line that holds has the last word
            chosen[self._holds(line, values)] = self._places[line.spell]
        return chosen

    def _holds(self, line: Line, values: dict[str, Numbers]) -> NDArray[np.bool_]:
        place = self._places[line.spell]
        holds: NDArray[np.bool_] = (self._ready[place] <= self._time) & (
            self._mana >= self._spells["mana"][place]
        )
        for condition in line.conditions:
            holds &= condition.holds(values)
        return holds

    def _values(self) -> dict[str, Numbers]:
        values = {"time": self._time, "left": self.ends - self._time, "mana": self._mana}
        for name, place in self._places.items():
            values[f"{name}.active"] = np.maximum(self._boosted[place] - self._time, 0.0)
            values[f"{name}.cooldown"] = np.maximum(self._ready[place] - self._time, 0.0)
        return values

    def _boost(self, at: Numbers) -> Numbers:
        boosts = np.where(self._boosted > at, self._spells["boost"][:, np.newaxis], 1.0)
        product: Numbers = boosts.prod(axis=0)
        return product
