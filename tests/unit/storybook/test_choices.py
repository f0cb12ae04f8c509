"""Choices are free within what is offered, and always the same."""

from examples.storybook.choices import Choices

OPTIONS = tuple(range(7))


def test_the_same_seed_makes_the_same_choices() -> None:
    assert drawn("a", 50) == drawn("a", 50)
    assert drawn("a", 50) != drawn("b", 50)


def test_every_option_gets_its_turn() -> None:
    assert set(drawn("a", 200)) == set(OPTIONS)


def test_parts_of_a_seed_do_not_run_together() -> None:
    one, other = Choices("ab", "c"), Choices("a", "bc")
    assert [one.pick(OPTIONS) for _ in range(50)] != [other.pick(OPTIONS) for _ in range(50)]


def test_what_is_dealt_is_different() -> None:
    for number in range(50):
        assert len(set(Choices(str(number)).deal(OPTIONS, 3))) == 3


def test_no_more_is_dealt_than_there_is() -> None:
    assert sorted(Choices("a").deal(OPTIONS, 99)) == list(OPTIONS)


def drawn(seed: str, times: int) -> list[int]:
    choices = Choices(seed)
    return [choices.pick(OPTIONS) for _ in range(times)]
