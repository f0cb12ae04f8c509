"""The graph of the job, as the seed draws it."""

from collections import Counter

from examples.storybook.app import nuclear_v2

from .samples import couple


def test_sixteen_documents_are_forty_eight_tasks_between_the_first_and_the_last() -> None:
    steps = nuclear_v2.plan(couple()).steps
    assert Counter(step.task_type for step in steps) == {
        "calculate": 1,
        "text_generation": 16,
        "pdf_generation": 16,
        "audio_generation": 16,
        "finalize": 1,
    }
    assert (steps[0].task_type, steps[-1].task_type) == ("calculate", "finalize")


def test_each_document_goes_from_text_to_pages_to_audio() -> None:
    by_name = {step.name: step for step in nuclear_v2.plan(couple()).steps}
    assert by_name["text-07"].needs == ("calculate",)
    assert by_name["pdf-07"].needs == ("text-07",)
    assert by_name["audio-07"].needs == ("text-07", "pdf-07")


def test_the_last_task_needs_every_other_and_makes_the_result() -> None:
    graph = nuclear_v2.plan(couple())
    assert graph.result == "finalize"
    assert set(graph.steps[-1].needs) == {step.name for step in graph.steps[:-1]}


def test_a_shorter_book_has_fewer_tasks() -> None:
    assert len(nuclear_v2.plan(couple(chapters=2)).steps) == 2 * 3 + 2


def test_phases_end_where_the_seed_says() -> None:
    assert nuclear_v2.phases_as_written() == [
        {"name": "calculating", "ends": 10},
        {"name": "text", "ends": 50},
        {"name": "pdf", "ends": 70},
        {"name": "audio", "ends": 95},
        {"name": "finalizing", "ends": 99},
    ]
