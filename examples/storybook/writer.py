"""The template writer: a chapter of a few paragraphs, the same for the same people and systems every time."""

import msgspec

from examples.storybook.charts import Chart, Charts
from examples.storybook.choices import Choices
from examples.storybook.document import Document
from examples.storybook.people import System
from examples.storybook.prose import chapter, prose

AUTHOR = "template"


def write(charts: Charts, number: int) -> Document:
    """Chapter ``number``, counted from one."""
    wanted = chapter(number)
    people = (charts.person1, charts.person2)
    choices = Choices(_seed(charts), wanted.slug)
    a, b = short_names(charts)
    both = {"a": a, "b": b}

    def system(turn: int) -> System:
        """The systems take turns, and each chapter begins with another one."""
        return charts.systems[(number + turn) % len(charts.systems)]

    opening, ending = choices.pick(wanted.openings), choices.pick(wanted.endings)
    scenes = choices.deal(wanted.scenes, 2)
    habits = choices.deal(wanted.habits, 2)
    portraits = [
        f"{_fill(habit, who=who, other=other, place=chart.place)} {_alone(system(turn), chart, who, choices)}"
        for turn, (habit, chart, who, other) in enumerate(
            zip(habits, people, (a, b), (b, a), strict=True), start=1
        )
    ]
    return Document(
        number=number,
        slug=wanted.slug,
        title=wanted.title,
        people=f"{people[0].name} and {people[1].name}",
        author=AUTHOR,
        paragraphs=(
            f"{_fill(opening, **both)} {_fill(scenes[0], **both)}",
            *portraits,
            f"{_together(system(3), charts, choices)} {_fill(scenes[1], **both)}",
            _fill(ending, **both),
        ),
    )


def short_names(charts: Charts) -> tuple[str, str]:
    """What the two are called in running text: by the first word of their names, if that tells them apart."""
    first, second = charts.person1.name, charts.person2.name
    a, b = first.split()[0], second.split()[0]
    return (a, b) if a != b else (first, second)


def _seed(charts: Charts) -> str:
    """The length of the book does not change what is in it."""
    return msgspec.json.encode((charts.person1, charts.person2, charts.systems)).decode()


def _alone(system: System, chart: Chart, who: str, choices: Choices) -> str:
    role = prose().roles[chart.line - 1]
    return _fill(
        choices.pick(prose().systems[system].alone),
        who=who,
        sun=chart.sun,
        moon=chart.moon,
        trait=choices.pick(prose().traits[chart.sun]),
        nakshatra=chart.nakshatra,
        emblem=prose().emblems[chart.nakshatra],
        gate=chart.gate,
        line=chart.line,
        role=role.name,
        a_role=f"{'an' if role.name[0] in 'AEIOU' else 'a'} {role.name}",
        keynote=choices.pick(role.keynotes),
    )


def _together(system: System, charts: Charts, choices: Choices) -> str:
    of_each = {
        f"{name}_{letter}": value
        for letter, chart in (("a", charts.person1), ("b", charts.person2))
        for name, value in {
            "sun": chart.sun,
            "moon": chart.moon,
            "element": chart.element,
            "nakshatra": chart.nakshatra,
            "emblem": prose().emblems[chart.nakshatra],
            "gate": chart.gate,
            "role": prose().roles[chart.line - 1].name,
        }.items()
    }
    pair = " ".join(sorted((charts.person1.element, charts.person2.element)))
    return _fill(
        choices.pick(prose().systems[system].together),
        elements=prose().elements[pair],
        emblem_a_first=_capital(str(of_each["emblem_a"])),
        **of_each,
    )


def _fill(sentence: str, **words: object) -> str:
    return sentence.format(**words)


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]
