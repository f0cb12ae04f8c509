"""The fights of examples/fleet: by the rules, and the same however they are cut."""

import doctest
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import examples.fleet
from examples.fleet.app import app
from examples.fleet.dps import Fight, Spell, simulate
from shoal import Iterations, try_engine
from shoal.runtime.errors import Invalid

FIRE = {
    "spells": {
        "combustion": {"boost": 1.3, "boost_s": 12, "cooldown_s": 60, "mana": 40},
        "fireball": {"damage": 5000, "cast_s": 2.0, "mana": 14},
        "scorch": {"damage": 2200, "cast_s": 1.5},
    },
    "rotation": """
        combustion if mana >= 60
        fireball   if combustion.active > 0 and left > 5
        scorch     if mana < 30
        fireball
    """,
    "seconds": 20,
}


def damage(rotation: str, *, seconds: float = 100.0, **spells: Spell) -> float:
    """What one caster does on average in a second, without critical hits and with all the mana it wants."""
    fight = Fight(spells=spells, rotation=rotation, seconds=seconds, mana=1e6, mana_per_s=1e6, critical=0)
    return float(simulate(fight, Iterations(1, 0, 2000)).mean())


@given(st.integers(0, 2**53 - 1), st.integers(1, 60), st.lists(st.integers(1, 60), max_size=4))
@settings(deadline=None, max_examples=25)
def test_a_fight_goes_the_same_way_whatever_it_is_simulated_with(
    seed: int, count: int, sizes: list[int]
) -> None:
    fight = app.engines["dps"].config_of(FIRE)
    first = seed % 2**40
    whole = simulate(fight, Iterations(seed, first, count)).tolist()
    for size in sizes:
        parts = [simulate(fight, part).tolist() for part in Iterations(seed, first, count).cut(size)]
        assert [one for part in parts for one in part] == pytest.approx(whole, rel=1e-13)


@pytest.mark.parametrize("chunks", [7, 1000])
def test_the_answer_does_not_depend_on_the_cutting(chunks: int) -> None:
    whole = try_engine(app, "dps", FIRE, iterations=1000, seed=11)
    cut = try_engine(app, "dps", FIRE, iterations=1000, chunks=chunks, seed=11)
    assert whole["meanDps"] > 1000
    assert whole["totalIterations"] == cut["totalIterations"] == 1000
    assert (cut["minDps"], cut["maxDps"]) == (whole["minDps"], whole["maxDps"])
    assert cut == pytest.approx(whole, rel=1e-12)


def test_one_spell_does_its_damage_in_its_time() -> None:
    assert damage("bolt", bolt=Spell(damage=300, cast_s=1.5)) == pytest.approx(200, rel=0.02)


def test_a_cooldown_and_a_pause_take_their_time() -> None:
    """Cast in 1 s, ready again 9 s later: what waits looks every half second."""
    assert damage("bolt", bolt=Spell(damage=300, cast_s=1.0, cooldown_s=9)) == pytest.approx(30, rel=0.1)


def test_a_boost_multiplies_what_hits_after_it() -> None:
    bolt = Spell(damage=300, cast_s=1.5)
    ever = Spell(cast_s=0.5, cooldown_s=3600, boost=2.0, boost_s=3600)
    assert damage("song if song.cooldown <= 0\nbolt", bolt=bolt, song=ever) == pytest.approx(400, rel=0.02)


def test_what_cannot_be_paid_for_is_not_cast() -> None:
    fight = Fight(
        spells={"bolt": Spell(damage=300, cast_s=1.0, mana=50)},
        rotation="bolt",
        seconds=100,
        mana=50,
        mana_per_s=5,
        critical=0,
    )
    assert simulate(fight, Iterations(1, 0, 1000)).mean() == pytest.approx(30, rel=0.12)


def test_critical_hits_do_twice_the_damage() -> None:
    spells = {"bolt": Spell(damage=300, cast_s=1.5)}
    fight = Fight(spells=spells, rotation="bolt", seconds=100, critical=0.5)
    assert simulate(fight, Iterations(1, 0, 2000)).mean() == pytest.approx(300, rel=0.02)


@pytest.mark.parametrize(
    "wrong",
    [
        {"rotation": "pray"},
        {"rotation": ""},
        {"spells": {}},
        {"spells": {"Fire ball": {}}},
        {"spells": {"scorch": {"cast_s": 0}}},
        {"spells": {"scorch": {"damage": "1"}}},
        {"seconds": 1e9},
        {"luck": 1},
    ],
)
def test_a_config_that_is_none_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(Invalid) as refused:
        try_engine(app, "dps", {**FIRE, **wrong}, iterations=1)
    assert refused.value.code == "invalid_config"


def test_a_caster_who_never_casts_has_no_result() -> None:
    with pytest.raises(Invalid, match="as if nothing had been computed"):
        try_engine(app, "dps", {**FIRE, "rotation": "fireball if mana > 1000"}, iterations=10)


@pytest.mark.parametrize("chunks", [1, 7, 32])
def test_a_picture_is_the_same_from_any_stripes(chunks: int) -> None:
    lines = try_engine(app, "mandelbrot", {}, iterations=32, chunks=chunks)["values"]
    assert lines == try_engine(app, "mandelbrot", {}, iterations=32)["values"]
    assert lines == lines[::-1], "the set is symmetric"
    assert {len(line) for line in lines} == {78}


def test_the_picture_in_the_docstring_is_the_one_that_is_drawn() -> None:
    assert doctest.testmod(examples.fleet) == (0, 3)
