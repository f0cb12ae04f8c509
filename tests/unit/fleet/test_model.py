"""What the brain is told is refused when its scripts could not keep it apart."""

from typing import Any

import pytest

from shoal.fleet.model import NodeRights, Plan

PLAN: dict[str, Any] = {
    "task": "task",
    "token": "token",
    "job": "job",
    "owner": "ann",
    "engine": "dps@1",
    "audience": "public",
    "config_hash": "hash",
    "iterations": 10,
    "size": 5,
}
NODE: dict[str, Any] = {
    "node": "n1",
    "owner": "ann",
    "accepts": frozenset({"public", "discord:1"}),
    "engines": frozenset({"dps@1"}),
    "limit": 4,
    "depth": 2,
}


@pytest.mark.parametrize("separator", [":", "|", " ", "\n", "", "{", "é"])
@pytest.mark.parametrize("field", ["task", "token", "job", "owner", "engine", "config_hash"])
def test_what_could_be_taken_for_a_separator_is_refused(field: str, separator: str) -> None:
    Plan(**PLAN)
    with pytest.raises(ValueError, match="cannot stand in a key"):
        Plan(**PLAN | {field: f"j8{separator}0" if separator else ""})


def test_a_task_has_no_dot_because_the_ids_of_its_chunks_have() -> None:
    with pytest.raises(ValueError, match="cannot stand in a key"):
        Plan(**PLAN | {"task": "task.1"})


@pytest.mark.parametrize(
    "wrong",
    [
        {"node": "a:b"},
        {"owner": "a b"},
        {"accepts": frozenset({"discord:1|dps@1"})},
        {"accepts": frozenset({"user:a:b"})},
        {"engines": frozenset({"dps@1 pi@2"})},
    ],
)
def test_rights_that_would_open_another_pool_are_refused(wrong: dict[str, Any]) -> None:
    NodeRights(**NODE)
    with pytest.raises(ValueError, match="cannot stand in a key"):
        NodeRights(**NODE | wrong)
