"""The language of rotations: all that is in it, and that nothing else is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples.fleet.rotation import MOST_CONDITIONS, MOST_LINES, OPERATORS, Condition, Line, parse_rotation

SPELLS = ("fireball", "combustion")


def test_a_script_is_read_line_by_line() -> None:
    script = """
        # the fire
        combustion if mana >= 60   # costly
        fireball if combustion.active>0 and time < 280.5
        fireball
    """
    assert parse_rotation(script, SPELLS) == [
        Line("combustion", (Condition("mana", ">=", 60.0),)),
        Line("fireball", (Condition("combustion.active", ">", 0.0), Condition("time", "<", 280.5))),
        Line("fireball", ()),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "scorch",
        "fireball if",
        "fireball if mana",
        "fireball if mana > x",
        "fireball if mana > 1 or time > 2",
        "fireball if mana > 1 and",
        "fireball if mana == 1",
        "fireball if mana > -1",
        "fireball if scorch.active > 1",
        "fireball if fireball.damage > 1",
        "fireball if 1 < mana",
        "fireball if mana > 1e999",
        "fireball if mana > 1234567890",
        "fireball, combustion",
        "__import__('os').system('true')",
        "fireball if (lambda: 1)() > 0",
        "fireball if " + " and ".join(["mana > 1"] * (MOST_CONDITIONS + 1)),
    ],
)
def test_anything_else_is_refused_with_its_line(line: str) -> None:
    with pytest.raises(ValueError, match="line 2 of the rotation: "):
        parse_rotation(f"fireball\n{line}", SPELLS)


@pytest.mark.parametrize("script", ["", "# nothing", "fireball\n" * (MOST_LINES + 1)])
def test_a_rotation_has_lines_and_not_too_many(script: str) -> None:
    with pytest.raises(ValueError, match="a rotation has 1 to 100 lines"):
        parse_rotation(script, SPELLS)


@given(st.text(max_size=200))
def test_no_text_does_anything_but_fail(script: str) -> None:
    try:
        lines = parse_rotation(script, SPELLS)
    except ValueError:
        return
    assert {line.spell for line in lines} <= set(SPELLS)


@given(st.sampled_from(sorted(OPERATORS)), st.integers(0, 9), st.lists(st.integers(0, 9), min_size=1))
def test_a_condition_is_looked_at_for_each_fight(sign: str, number: int, values: list[int]) -> None:
    (line,) = parse_rotation(f"fireball if mana {sign} {number}", SPELLS)
    held = line.conditions[0].holds({"mana": np.array(values, dtype=float)})
    compare = {"<": int.__lt__, "<=": int.__le__, ">": int.__gt__, ">=": int.__ge__}[sign]
    assert held.tolist() == [compare(value, number) for value in values]
