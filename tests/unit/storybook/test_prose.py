"""There is prose for every chart there can be."""

from itertools import combinations_with_replacement

from examples.storybook.charts import ELEMENTS, LINES_OF_A_GATE, NAKSHATRAS, SIGNS
from examples.storybook.prose import prose


def test_there_are_sixteen_chapters_with_names_of_their_own() -> None:
    slugs = [chapter.slug for chapter in prose().chapters]
    assert len(set(slugs)) == 16
    assert all(slug.replace("-", "").isalpha() for slug in slugs)


def test_every_chapter_has_something_to_choose_from() -> None:
    for chapter in prose().chapters:
        for options, least in (
            (chapter.openings, 2),
            (chapter.habits, 3),
            (chapter.scenes, 3),
            (chapter.endings, 2),
        ):
            assert len(set(options)) == len(options) >= least, chapter.title


def test_every_sign_star_line_and_pair_of_elements_has_its_words() -> None:
    assert prose().traits.keys() == set(SIGNS)
    assert prose().emblems.keys() == set(NAKSHATRAS)
    assert len(prose().roles) == LINES_OF_A_GATE
    pairs = {" ".join(sorted(pair)) for pair in combinations_with_replacement(ELEMENTS, 2)}
    assert prose().elements.keys() == pairs


def test_every_system_has_its_words() -> None:
    assert prose().systems.keys() == {"vedic", "western", "human_design"}
